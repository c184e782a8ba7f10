"""Every request of a device to ingest: single messages, batches, and what asks for its health."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from clients.devices.bound_devices import CachedBoundDevices
from fleetlane.events.errors import ProblemTag
from fleetlane.events.lanes import Lane
from lambdas.http import device_request
from lambdas.http.problems import Answer, Asker, Jitter, Problem
from lambdas.ingest import problems
from lambdas.ingest.batch import land_batch
from lambdas.ingest.batch_document import Entry
from lambdas.ingest.intake import Intake
from lambdas.ingest.service import InboundMessage, Receipt

_LANE_ASKED: Final[Mapping[str, Lane]] = {"/v1/streams": Lane.STANDARD, "/v1/fast": Lane.FAST}

_CLOUDEVENTS_BATCH: Final = "application/cloudevents-batch+json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatcher:
    """Answers requests, in any number of threads. ``now_ms`` is the clock.

    By hand: Powertools' router took longer to find the route of a single message and to write its
    answer than all else together, and has one request at a time on a class that threads share.
    """

    intake: Intake
    devices: CachedBoundDevices
    now_ms: Callable[[], int]
    jitter: Jitter

    def resolve(self, event: Mapping[str, Any]) -> Answer:
        """Answer a proxy event (API Gateway REST, v1)."""
        try:
            return self._answer(event)
        except Exception as error:  # noqa: BLE001 - the edge: whatever it is, a device is answered
            return problems.refused(error, self.jitter, event)

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
                return problems.health_answer(self.intake.ingest.health.conditions())
            case _, "/v1/health":
                raise problems.NoSuchMethodError(method, "GET")
            case _ if asked is not None or path == "/v1/batch":
                raise problems.NoSuchMethodError(method, "POST")
            case _:
                raise problems.NoSuchPathError

    def _landed(self, event: Mapping[str, Any], stream: str, asked: Lane) -> Answer:
        arrival_millis, sender = self.now_ms(), device_request.sender_of(event)
        device_request.checked_stream(stream)
        declared = device_request.declared_in(device_request.headers_in(event))
        inbound = InboundMessage(
            **msgspec.structs.asdict(sender),
            stream=stream,
            asked=asked,
            arrival_millis=arrival_millis,
            body=device_request.body_of(event),
            **declared,
        )
        receipt = self.intake.land(inbound)
        problems.ACCEPTED.write(
            1,
            len(inbound.body),
            lane=receipt.lane,
            stream=receipt.counted_stream,
            arrival_millis=arrival_millis,
        )
        return problems.receipt_answer(receipt)

    def _landed_batch(self, event: Mapping[str, Any]) -> Answer:
        arrival_millis, sender = self.now_ms(), device_request.sender_of(event)
        outcomes = land_batch(
            document_of(event), sender, arrival_millis, intake=self.intake, devices=self.devices
        )
        answers = [
            (one if isinstance(one, Receipt) else problems.problem_of(one, self.jitter), entry)
            for one, entry in outcomes
        ]
        _count_batch(answers, arrival_millis, sender.device_type)
        return problems.batch_answer([answer for answer, _ in answers])


def document_of(event: Mapping[str, Any]) -> bytes:
    """The body of a proxy event, which is a CloudEvents JSON batch; its entries are not looked at.

    Raises what reading its parts does, and ``BadRequestError`` where the body is said to be
    something else, or a header belongs to single messages alone.
    """
    headers = device_request.headers_in(event)
    content_type = headers.get("content-type", "")
    if content_type.partition(";")[0].strip().lower() != _CLOUDEVENTS_BATCH:
        raise device_request.refusal("header Content-Type", content_type, _CLOUDEVENTS_BATCH)
    for name, attribute in device_request.ATTRIBUTE_OF.items():
        if name in headers and name != "content-type":
            problem = f"header {name} is of single messages; an entry has `{attribute}`"
            raise device_request.BadRequestError(problem)
    return device_request.body_of(event)


def _count_batch(
    answers: Sequence[tuple[Receipt | Problem, Entry | None]], arrival_millis: int, device_type: str
) -> None:
    """Write one line of metrics for what is alike, however many entries there are.

    That is a lane and stream, streams without a flow being one together; or a tag and an ``Asker``.
    """
    sizes = defaultdict[tuple[Lane, str | None], list[int]](list)
    refusals = Counter[tuple[ProblemTag, Asker]]()
    for answer, entry in answers:
        if isinstance(answer, Receipt):
            size_bytes = 0 if entry is None else len(entry.body)
            sizes[answer.lane, answer.counted_stream].append(size_bytes)
        else:
            said = ("", "") if entry is None else (entry.stream, entry.firmware or "")
            refusals[answer.tag, Asker(*said, device_type)] += 1
    for (lane, stream), some in sizes.items():
        problems.ACCEPTED.write(
            len(some), sum(some), lane=lane, stream=stream, arrival_millis=arrival_millis
        )
    for (tag, asker), count in refusals.items():
        problems.REFUSED.write(count, of=tag, about=asker)
