"""A gateway keeps each message until its own 202, whatever became of the others in its batch."""

import asyncio
import base64
import json
from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

from urllib3 import HTTPResponse

from clients.device_api import NoAnswerError
from clients.devices.registry import DeviceStatus
from fleetlane.events.names import random_raw_id
from local.simulator.device import Expected, Outgoing, SentMessage, SimulatedDevice, signing_key
from local.simulator.sender import Sender


def device(device_id: str) -> SimulatedDevice:
    return SimulatedDevice(
        device_id=device_id,
        device_type="tracker",
        firmware="2.0.0",
        status=DeviceStatus.ACTIVE,
        key=signing_key(1, Random(1)),  # noqa: S311 - a test
    )


MESSAGE = Outgoing(
    stream="gps", body=bytes(range(256)), content_type="application/x", expected=Expected()
)
BATCH = tuple((device(f"d-{n}"), replace(MESSAGE, idempotency_key=f"k-{n}")) for n in range(3))


class FakeApi:
    """Answers each batch as told: a status of the whole, or one for each entry; then 202s."""

    def __init__(self, *answers: int | list[int] | None) -> None:
        self._answers = list(answers)
        self.batches: list[list[dict[str, Any]]] = []

    async def post(self, path: str, body: bytes, headers: Mapping[str, str]) -> HTTPResponse:
        self.batches.append(json.loads(body))
        entries = len(self.batches[-1])
        answer = self._answers.pop(0) if self._answers else [202] * entries
        if answer is None:
            raise NoAnswerError("url", "refused")
        if isinstance(answer, int):
            return HTTPResponse(b"", {"Retry-After": "0"}, answer)
        receipts = [receipt(status) for status in answer]
        status = 202 if set(answer) == {202} else 207
        content = json.dumps({"receipts": receipts}).encode()
        return HTTPResponse(content, {"Retry-After": "0"}, status)


def receipt(status: int) -> dict[str, object]:
    if status != 202:
        return {"status": status}
    return {"status": 202, "id": random_raw_id(), "lane": "standard", "landed": "kafka"}


def sent(api: FakeApi) -> list[SentMessage]:
    return asyncio.run(Sender(api, patience_s=10).send_batch("token", BATCH))


def statuses(messages: list[SentMessage]) -> list[list[int | None]]:
    return [[answer.status for answer in one.answers] for one in messages]


def test_every_entry_gives_a_receipt_of_its_own_device() -> None:
    messages = sent(FakeApi())

    assert [one.device_id for one in messages] == ["d-0", "d-1", "d-2"]
    assert len({found.raw_id for one in messages for found in one.receipts()}) == 3


def test_only_what_is_left_is_sent_again_with_the_id_that_it_had() -> None:
    api = FakeApi([202, 503, 202])

    messages = sent(api)

    assert statuses(messages) == [[202], [503, 202], [202]]
    assert [[one["id"] for one in batch] for batch in api.batches] == [
        ["k-0", "k-1", "k-2"],
        ["k-1"],
    ]


def test_what_is_refused_is_not_sent_again() -> None:
    messages = sent(FakeApi([202, 403, 400]))

    assert statuses(messages) == [[202], [403], [400]]


def test_a_batch_that_is_not_answered_or_deferred_is_sent_again_whole() -> None:
    messages = sent(FakeApi(None, 503, 429))

    assert statuses(messages) == 3 * [[None, 503, 429, 202]]


def test_an_entry_carries_the_message_s_very_bytes() -> None:
    api = FakeApi()

    sent(api)

    assert base64.b64decode(api.batches[0][0]["data_base64"]) == MESSAGE.body
    assert api.batches[0][0]["source"] == "/devices/d-0"
