"""One message a request: nearly all that ingest is asked, so it is answered without a router.

Powertools' resolver takes longer to find the route and to write the answer than all else together.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from fleetlane.events.lanes import Lane
from lambdas.ingest.answers import Answer, receipt_answer
from lambdas.ingest.http_request import upload_from
from lambdas.ingest.metrics import count_accepted
from lambdas.ingest.problems import Jitter, refused
from lambdas.ingest.rate_limiter import Admittance

_LANE_ASKED: Final[Mapping[str, Lane]] = {"/v1/streams": Lane.STANDARD, "/v1/fast": Lane.FAST}


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRoute:
    """Answers ``POST /v1/streams/{stream}`` and ``POST /v1/fast/{stream}``; for all threads."""

    reception: Admittance
    now_ms: Callable[[], int]
    jitter: Jitter

    def answer(self, event: Mapping[str, Any]) -> Answer | None:
        """Land a message, or say why not; ``None`` for what other routes are there for."""
        path, _, stream = event["path"].rstrip("/").rpartition("/")
        asked = _LANE_ASKED.get(path)
        if asked is None or event["httpMethod"] != "POST":
            return None
        try:
            return self._landed(event, stream, asked)
        except Exception as error:  # noqa: BLE001 - the edge: whatever it is, a device is answered
            return refused(error, self.jitter)

    def _landed(self, event: Mapping[str, Any], stream: str, asked: Lane) -> Answer:
        upload = upload_from(event, stream=stream, asked=asked, arrival_millis=self.now_ms())
        receipt = self.reception.land(upload)
        count_accepted(receipt.lane, body_bytes=len(upload.body))
        return receipt_answer(receipt)
