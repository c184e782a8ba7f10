"""A gateway's batches: messages of the devices behind it, each sent until its 202."""

import asyncio
import base64
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

import orjson

from fleetlane.events.envelope import SOURCE_PREFIX
from local.simulator.device import SimulatedDevice
from local.simulator.http_api import HttpAnswer, NoAnswerError
from local.simulator.messages import ACCEPTED, Answer, Outgoing, SentMessage
from local.simulator.sender import Sender

_CONTENT_TYPE: Final = "application/cloudevents-batch+json"
_PATH: Final = "/v1/batch"
_ANSWERED: Final = frozenset({HTTPStatus.ACCEPTED, HTTPStatus.MULTI_STATUS})


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayedMessage:
    """A message that a gateway relays; ``key`` is the id of its entry, and its idempotency key."""

    device: SimulatedDevice
    message: Outgoing
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What a gateway sends in one request. It is never part of a herd."""

    relayed: tuple[RelayedMessage, ...]
    is_herd: bool = False


@dataclass(slots=True)
class _Waiting:
    """A message that is still to be accepted, and the answers to it so far."""

    relayed: RelayedMessage
    answers: list[Answer] = field(default_factory=list)

    @property
    def is_done(self) -> bool:
        """Whether nothing is gained by sending it again."""
        return bool(self.answers) and not Sender.is_worth_another_try(self.answers[-1].status)

    def sent(self) -> SentMessage:
        relayed = self.relayed
        return SentMessage.of(relayed.device.device_id, relayed.message, self.answers)


async def sent_batch(sender: Sender, token: str, batch: Batch) -> list[SentMessage]:
    """Send a batch until each of its messages is done with, and later only what is left of it."""
    every = [_Waiting(one) for one in batch.relayed]
    give_up_s = time.monotonic() + sender.patience_s
    while True:
        left = [one for one in every if not one.is_done]
        retry_after_s = await _send_once(sender, token, left)
        if all(one.is_done for one in every) or time.monotonic() > give_up_s:
            return [one.sent() for one in every]
        await asyncio.sleep(retry_after_s)


def batch_document(relayed: Sequence[RelayedMessage]) -> bytes:
    """Write a CloudEvents JSON batch; bodies are always Base64."""
    return orjson.dumps([_entry(one) for one in relayed])


async def _send_once(sender: Sender, token: str, left: Sequence[_Waiting]) -> float:
    """Send what is left; gives after how many seconds to try again."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": _CONTENT_TYPE}
    document = batch_document([one.relayed for one in left])
    try:
        response = await sender.api.post(_PATH, document, headers)
    except NoAnswerError:
        response = None
    for one, answer in zip(left, _answers(response, len(left)), strict=True):
        one.answers.append(answer)
        sender.count(answer)
    return sender.pause_s(response)


def _answers(response: HttpAnswer | None, entries: int) -> Iterator[Answer]:
    if response is None or response.status not in _ANSWERED:
        status = None if response is None else response.status
        yield from (Answer(status=status) for _ in range(entries))
        return
    for receipt in orjson.loads(response.content)["receipts"]:
        is_accepted = receipt["status"] == ACCEPTED
        yield (
            Answer.with_receipt(ACCEPTED, receipt)
            if is_accepted
            else Answer(status=receipt["status"])
        )


def _entry(one: RelayedMessage) -> dict[str, str]:
    message = one.message
    entry = {
        "specversion": "1.0",
        "id": one.key,
        "source": f"{SOURCE_PREFIX}{one.device.device_id}",
        "type": message.stream,
        "datacontenttype": message.content_type,
        "data_base64": base64.b64encode(message.body).decode(),
        "firmware": one.device.firmware,
    }
    return entry if message.end_millis is None else entry | {"endmillis": str(message.end_millis)}
