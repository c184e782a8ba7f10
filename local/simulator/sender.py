"""Sending as firmware must: each message, alone or in a gateway's batch, until its 202."""

import asyncio
import base64
import io
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import IO, Any, Final, Protocol

import orjson
from urllib3 import BaseHTTPResponse

from clients import device_api
from clients.device_api import UPLOADED, NoAnswerError
from fleetlane.events.envelope import SOURCE_PREFIX
from local.simulator.device import ACCEPTED, Answer, Outgoing, SentMessage, SimulatedDevice

_TOKEN_LIFETIME_S: Final = 12 * 60 * 60
_RETRY_AFTER_S_MAX: Final = 2.0
"""A simulation does not wait as long as a fleet does, whatever the answer asks for."""
_RETRY_AFTER_S: Final = 0.5
_WORTH_ANOTHER_TRY: Final = frozenset({429, 503, None})
_CONTENT_TYPE: Final = "application/cloudevents-batch+json"

type Upload = Callable[[Mapping[str, Any], IO[bytes]], dict[str, Any]]
"""Posts a form to S3 and gives the receipt; raises as ``device_api.uploaded``."""


class Api(Protocol):
    """Where messages are posted; ``HttpApi`` is one."""

    async def post(self, path: str, body: bytes, headers: Mapping[str, str]) -> BaseHTTPResponse:
        """Send one request; raises ``NoAnswerError``."""


type Batch = tuple[tuple[SimulatedDevice, Outgoing], ...]
"""What a gateway sends in one request, never part of a herd: messages, and whose they are.

Their idempotency keys are the ids of their entries.
"""


class Sender:
    """Sends the messages of all devices."""

    def __init__(
        self, api: Api, *, patience_s: float, upload: Upload = device_api.uploaded
    ) -> None:
        """Take the API, and what posts to S3; a message is sent again for ``patience_s``."""
        self._api, self._upload, self._patience_s = api, upload, patience_s

    async def send(self, device: SimulatedDevice, token: str, message: Outgoing) -> SentMessage:
        """Send one message until the device is done with it."""
        headers = _headers(device, token, message)
        to_lose, to_repeat = message.lost_answers, message.repeats
        answers: list[Answer] = []
        give_up_s = time.monotonic() + self._patience_s
        while True:
            answer, retry_after_s = await self._answer(message, headers)
            if answer.status == ACCEPTED and to_lose:
                to_lose -= 1
                answers.append(replace(answer, is_seen=False))
                continue
            answers.append(answer)
            if answer.status == ACCEPTED and to_repeat:
                to_repeat -= 1
            elif answer.status in _WORTH_ANOTHER_TRY and time.monotonic() < give_up_s:
                await asyncio.sleep(retry_after_s)
            else:
                return SentMessage.of(device.device_id, message, answers)

    async def send_batch(self, token: str, batch: Batch) -> list[SentMessage]:
        """Send a batch until each of its messages is done with, and later only what is left."""
        headers = {"Authorization": f"Bearer {token}", "Content-Type": _CONTENT_TYPE}
        answers: list[list[Answer]] = [[] for _ in batch]
        left = list(range(len(answers)))
        give_up_s = time.monotonic() + self._patience_s
        while True:
            document = orjson.dumps([_entry(*batch[at]) for at in left])
            try:
                response = await self._api.post("/v1/batch", document, headers)
            except NoAnswerError:
                response = None
            for at, answer in zip(left, _answers(response, len(left)), strict=True):
                answers[at].append(answer)
            left = [at for at in left if answers[at][-1].status in _WORTH_ANOTHER_TRY]
            if not left or time.monotonic() > give_up_s:
                return [
                    SentMessage.of(device.device_id, message, seen)
                    for (device, message), seen in zip(batch, answers, strict=True)
                ]
            await asyncio.sleep(_pause_s(response))

    async def _answer(self, message: Outgoing, headers: Mapping[str, str]) -> tuple[Answer, float]:
        """Send once; gives the answer, and after how many seconds to try again."""
        try:
            response = await self._posted(message, headers)
            if response.status == HTTPStatus.CREATED:
                body = io.BytesIO(message.body)
                receipt = await asyncio.to_thread(self._upload, response.json(), body)
                return Answer.with_receipt(UPLOADED, receipt), 0.0
        except (NoAnswerError, device_api.MessageRefusedError):  # S3's: another form may do
            return Answer(status=None), _pause_s(None)
        if response.status != ACCEPTED:
            return Answer(status=response.status), _pause_s(response)
        return Answer.with_receipt(ACCEPTED, response.json()), 0.0

    async def _posted(self, message: Outgoing, headers: Mapping[str, str]) -> BaseHTTPResponse:
        """Post a message, or request a form for one that goes to S3."""
        if not message.is_upload:
            path = f"/v1/{'fast' if message.is_fast else 'streams'}/{message.stream}"
            return await self._api.post(path, message.body, headers)
        declared = device_api.declaration_of(message.body, content_type=message.content_type)
        json_headers = {**headers, "Content-Type": "application/json"}
        path = f"/v1/uploads/{message.stream}"
        return await self._api.post(path, orjson.dumps(declared), json_headers)


def token_of(device: SimulatedDevice, *, now_ms: int) -> str:
    """A token for the whole run."""
    return device.key.token(device.device_id, now_s=now_ms // 1000, lifetime_s=_TOKEN_LIFETIME_S)


def _headers(device: SimulatedDevice, token: str, message: Outgoing) -> dict[str, str]:
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": message.content_type,
        "X-Firmware-Version": device.firmware,
        "Idempotency-Key": message.idempotency_key,
        "X-Data-End-Millis": message.end_millis,
    }
    return {name: str(value) for name, value in headers.items() if value is not None}


def _pause_s(response: BaseHTTPResponse | None) -> float:
    """After how many seconds to try again; less than is asked for, if that is long."""
    asked = "" if response is None else response.headers.get("Retry-After", "")
    return min(float(asked), _RETRY_AFTER_S_MAX) if asked.isdecimal() else _RETRY_AFTER_S


def _answers(response: BaseHTTPResponse | None, entries: int) -> Iterator[Answer]:
    if response is None or response.status not in (ACCEPTED, HTTPStatus.MULTI_STATUS):
        status = None if response is None else response.status
        yield from (Answer(status=status) for _ in range(entries))
        return
    for receipt in response.json()["receipts"]:
        status = receipt["status"]
        yield Answer.with_receipt(status, receipt) if status == ACCEPTED else Answer(status=status)


def _entry(device: SimulatedDevice, message: Outgoing) -> dict[str, str | None]:
    """A message as a CloudEvents JSON batch holds it; bodies are always Base64."""
    entry = {
        "specversion": "1.0",
        "id": message.idempotency_key,
        "source": f"{SOURCE_PREFIX}{device.device_id}",
        "type": message.stream,
        "datacontenttype": message.content_type,
        "data_base64": base64.b64encode(message.body).decode(),
        "firmware": device.firmware,
    }
    return entry if message.end_millis is None else entry | {"endmillis": str(message.end_millis)}
