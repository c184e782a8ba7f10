"""Every request of a device to ingest: single messages, batches, and what asks for its health."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from clients.devices.bound_devices import CachedBoundDevices
from fleetlane.events.errors import ProblemTag
from fleetlane.events.lanes import Lane
from lambdas.http.device_request import (
    ATTRIBUTE_OF,
    BadRequestError,
    body_of,
    checked_stream,
    declared_in,
    headers_in,
    refusal,
    sender_of,
)
from lambdas.http.problems import Answer, Jitter, Problem
from lambdas.ingest.batch import Batch, land_batch
from lambdas.ingest.intake import Intake
from lambdas.ingest.problems import (
    ACCEPTED,
    REFUSED,
    NoSuchMethodError,
    NoSuchPathError,
    batch_answer,
    health_answer,
    problem_of,
    receipt_answer,
    refused,
)
from lambdas.ingest.service import InboundMessage, Receipt

_LANE_ASKED: Final[Mapping[str, Lane]] = {"/v1/streams": Lane.STANDARD, "/v1/fast": Lane.FAST}

_CLOUDEVENTS_BATCH: Final = "application/cloudevents-batch+json"
_OF_ONE_MESSAGE: Final = {
    header: attribute for header, attribute in ATTRIBUTE_OF.items() if header != "content-type"
}


class Dispatcher:
    """Answers requests, in any number of threads. ``now_ms`` is the clock.

    By hand: Powertools' router took longer to find the route of a single message and to write its
    answer than all else together, and has one request at a time on a class that threads share.
    """

    def __init__(
        self,
        intake: Intake,
        devices: CachedBoundDevices,
        *,
        now_ms: Callable[[], int],
        jitter: Jitter,
    ) -> None:
        self._intake, self._devices = intake, devices
        self._now_ms, self._jitter = now_ms, jitter

    def resolve(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a proxy event (API Gateway REST, v1)."""
        try:
            answer = self._answer(event)
        except Exception as error:  # noqa: BLE001 - the edge: whatever it is, a device is answered
            answer = refused(error, self._jitter)
        return answer.as_proxy()

    def _answer(self, event: Mapping[str, Any]) -> Answer:
        method, path = event["httpMethod"], event["path"].rstrip("/")
        folder, _, stream = path.rpartition("/")
        asked = _LANE_ASKED.get(folder)
        if asked is not None and method == "POST":
            return self._landed(event, stream, asked)
        match method, path:
            case "POST", "/v1/batch":
                return self._landed_batch(event)
            case "GET", "/v1/health":
                return health_answer(self._intake.ingest.health.conditions())
            case _, "/v1/health":
                raise NoSuchMethodError(method, "GET")
            case _:
                is_known = asked is not None or path == "/v1/batch"
                raise NoSuchMethodError(method, "POST") if is_known else NoSuchPathError()

    def _landed(self, event: Mapping[str, Any], stream: str, asked: Lane) -> Answer:
        inbound = inbound_from(event, stream=stream, asked=asked, arrival_millis=self._now_ms())
        receipt = self._intake.land(inbound)
        ACCEPTED.write(
            1,
            len(inbound.body),
            lane=receipt.lane,
            stream=receipt.counted_stream,
            arrival_millis=inbound.arrival_millis,
        )
        return receipt_answer(receipt)

    def _landed_batch(self, event: Mapping[str, Any]) -> Answer:
        batch = batch_from(event, arrival_millis=self._now_ms())
        outcomes = land_batch(batch, self._intake, self._devices)
        answers = [
            one if isinstance(one, Receipt) else problem_of(one, self._jitter)
            for one, _ in outcomes
        ]
        sizes = [size_bytes for _, size_bytes in outcomes]
        _count_batch(answers, body_bytes=sizes, arrival_millis=batch.arrival_millis)
        return batch_answer(answers)


def inbound_from(
    event: Mapping[str, Any], *, stream: str, asked: Lane, arrival_millis: int
) -> InboundMessage:
    """Read a proxy event (API Gateway REST, v1); raises what reading its parts does."""
    sender = sender_of(event)
    checked_stream(stream)
    declared = declared_in(headers_in(event))
    return InboundMessage(
        device_id=sender.device_id,
        device_type=sender.device_type,
        is_quarantined=sender.is_quarantined,
        stream=stream,
        asked=asked,
        arrival_millis=arrival_millis,
        body=body_of(event),
        **declared,
    )


def batch_from(event: Mapping[str, Any], *, arrival_millis: int) -> Batch:
    """Read a proxy event whose body is a CloudEvents JSON batch; its entries are not looked at.

    Raises what reading its parts does, and ``BadRequestError`` where the body is said to be
    something else, or a header belongs to single messages alone.
    """
    sender, headers = sender_of(event), headers_in(event)
    content_type = headers.get("content-type", "")
    if content_type.partition(";")[0].strip().lower() != _CLOUDEVENTS_BATCH:
        raise refusal("header Content-Type", content_type, _CLOUDEVENTS_BATCH)
    for name, attribute in _OF_ONE_MESSAGE.items():
        if name in headers:
            problem = f"header {name} is of single messages; an entry has `{attribute}`"
            raise BadRequestError(problem)
    return Batch(sender=sender, arrival_millis=arrival_millis, document=body_of(event))


type _Counted = tuple[Lane, str | None]


def _count_batch(
    outcomes: Sequence[Receipt | Problem], *, body_bytes: Sequence[int], arrival_millis: int
) -> None:
    """Write one line of metrics a lane and stream, and one a tag, however many entries there are.

    Streams without a flow are one together.
    """
    messages, bytes_of, refusals = Counter[_Counted](), Counter[_Counted](), Counter[ProblemTag]()
    for outcome, size_bytes in zip(outcomes, body_bytes, strict=True):
        if isinstance(outcome, Problem):
            refusals[outcome.tag] += 1
        else:
            counted = outcome.lane, outcome.counted_stream
            messages[counted] += 1
            bytes_of[counted] += size_bytes
    for (lane, stream), count in messages.items():
        size_bytes = bytes_of[lane, stream]
        ACCEPTED.write(count, size_bytes, lane=lane, stream=stream, arrival_millis=arrival_millis)
    for tag, count in refusals.items():
        REFUSED.write(count, of=tag)
