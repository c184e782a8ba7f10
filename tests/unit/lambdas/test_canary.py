"""The canary sends as a device does: what it sends again, and what it reports."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache

import pytest

from clients.device_api import AUDIENCE, DeviceKey, MessageRefusedError, NoAnswerError
from clients.devices.canary import TRIES_MAX, Canary, CanaryNotAcceptedError
from fleetlane.events.canary import DEVICE_ID, CanaryMessage, Route, messages_of
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.times import now_ms, rfc3339
from lambdas.authorizer.service import proven_by
from lambdas.canary import handler
from operations.devices.canary import canary_device
from tests.unit.lambdas.fakes import FakeDevices

SLOT_MS = 1_790_000_040_000
KEY = DeviceKey.generate()
API = "https://api.example"

type Fault = Callable[[CanaryMessage, int], FleetlaneError | None]


@dataclass
class Door:
    """Takes the slot's messages, but for faults: of a message and its try, counted from 1."""

    fault: Fault = lambda *_: None
    receipts: Mapping[Route, str] = field(default_factory=dict)
    sent: list[tuple[str, bytes, Mapping[str, str]]] = field(default_factory=list)
    waited_s: list[float] = field(default_factory=list)

    def canary(self) -> Canary:
        return Canary(api_url=API, key=KEY, send=self._send, wait=self.waited_s.append)

    def tries(self, message: CanaryMessage) -> int:
        keys = [headers["Idempotency-Key"] for _, _, headers in self.sent]
        return keys.count(message.idempotency_key)

    def _send(self, url: str, body: bytes, headers: Mapping[str, str]) -> Mapping[str, object]:
        self.sent.append((url, body, headers))
        key = headers["Idempotency-Key"]
        message = next(one for one in messages_of(SLOT_MS) if one.idempotency_key == key)
        problem = self.fault(message, self.tries(message))
        if problem is not None:
            raise problem
        return {"id": self.receipts.get(message.route, message.raw_id)}


def sent_by(door: Door) -> list[CanaryMessage]:
    sent = door.canary().send_all(messages_of(SLOT_MS), now_ms=SLOT_MS)
    return list(sent.checked())


def test_all_of_a_slots_messages_are_sent_each_to_its_lanes_endpoint() -> None:
    door = Door()

    accepted = sent_by(door)

    assert accepted == list(messages_of(SLOT_MS))
    assert sorted(url for url, _, _ in door.sent) == [
        f"{API}/v1/fast/canary",
        f"{API}/v1/streams/canary",
        f"{API}/v1/streams/canary",
        f"{API}/v1/streams/canary-slow",
    ]
    assert {body for _, body, _ in door.sent} == {one.body for one in accepted}


def test_only_the_late_one_declares_an_end_over_a_day_before() -> None:
    door = Door()

    sent_by(door)

    ends = {
        headers["Idempotency-Key"]: SLOT_MS - int(headers["X-Data-End-Millis"])
        for _, _, headers in door.sent
        if "X-Data-End-Millis" in headers
    }
    assert ends == {f"canary-{SLOT_MS}-late": 25 * 3_600_000}


def test_its_token_proves_that_it_is_the_canary() -> None:
    door, devices = Door(), FakeDevices()
    devices.register(canary_device(KEY, now_ms=0))

    door.canary().send_all(messages_of(SLOT_MS), now_ms=now_ms())

    token = door.sent[0][2]["Authorization"].removeprefix("Bearer ")
    device, _ = proven_by(token, devices=devices, audiences=[AUDIENCE])
    assert device.device_id == DEVICE_ID


@pytest.mark.parametrize(
    "problem",
    [
        NoAnswerError("url", "timed out"),
        MessageRefusedError(503, "try_later", "later"),
        MessageRefusedError(429, "slow_down", "slower"),
    ],
)
def test_what_may_pass_is_sent_again_under_the_same_key(problem: FleetlaneError) -> None:
    door = Door(fault=lambda message, number: problem if number < TRIES_MAX else None)

    accepted = sent_by(door)

    assert accepted == list(messages_of(SLOT_MS))
    assert {door.tries(one) for one in accepted} == {TRIES_MAX}


def test_what_is_refused_for_good_is_not_sent_again_and_the_others_are_accepted() -> None:
    refusal = MessageRefusedError(403, "forbidden", "revoked")
    door = Door(fault=lambda message, _: refusal if message.route is Route.SLOW else None)

    sent = door.canary().send_all(messages_of(SLOT_MS), now_ms=SLOT_MS)

    (slow,) = sent.problems
    assert (slow.route, door.tries(slow)) == (Route.SLOW, 1)
    assert [one.route for one in sent.accepted] == [Route.FAST, Route.STANDARD, Route.LATE]


def test_a_call_of_which_a_message_is_not_accepted_fails_and_says_which() -> None:
    door = Door(fault=lambda message, _: NoAnswerError("url", "timed out"))

    with pytest.raises(CanaryNotAcceptedError, match=r"fast, standard, late, slow.*timed out"):
        sent_by(door)


def test_a_receipt_for_another_id_is_a_problem() -> None:
    door = Door(receipts={Route.FAST: "1" + "0" * 32})

    sent = door.canary().send_all(messages_of(SLOT_MS), now_ms=SLOT_MS)

    assert [problem.reason for problem in sent.problems.values()] == ["other_receipt"]


def test_a_function_whose_messages_are_refused_reads_its_key_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refusal = MessageRefusedError(401, "unauthorized", "another key")
    doors = iter((Door(fault=lambda *_: refusal), Door()))
    monkeypatch.setattr(handler, "_canary", cache(lambda: next(doors).canary()))
    minute = {"time": rfc3339(SLOT_MS)}

    with pytest.raises(CanaryNotAcceptedError):
        handler.handle(minute, None)
    again = handler.handle(minute, None)

    assert again.keys() == {one.route for one in messages_of(SLOT_MS)}
