"""A thousand honest devices, and ten that attack; each notes its answers."""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from random import Random
from typing import Final

from urllib3 import BaseHTTPResponse

from clients.device_api import DeviceKey, NoAnswerError
from clients.devices.registry import RegisteredDevice
from fleetlane.events.times import now_ms
from local.simulator import bodies
from local.simulator.device import ACCEPTED
from local.simulator.http_api import HttpApi
from local.simulator.simulator import Registry
from operations.ledger.message_results import Receipt
from tests.hostile.attacks import Attack, Request

HONEST_PREFIX: Final = "honest-"
_LIFETIME_S: Final = 3 * 60 * 60
_TRY_AGAIN_S: Final = 0.5
_PATIENCE_S: Final = 60.0
_RANDOM: Final = Random(7)  # noqa: S311 - a simulation


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A registered device with a token for the whole run."""

    device_id: str
    token: str

    def headers(self, request: Request) -> dict[str, str]:
        token = self.token if request.token is None else request.token
        return {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/octet-stream",
            **request.headers,
        }


def registered(device_ids: Sequence[str], registry: Registry, *, types: Sequence[str]) -> "Fleet":
    """Register devices of these ids and types; gives them."""
    now_s, devices, items = int(time.time()), list[Device](), list[RegisteredDevice]()
    for device_id, device_type in zip(device_ids, types, strict=True):
        key = DeviceKey.generate()
        token = key.token(device_id, now_s=now_s, lifetime_s=_LIFETIME_S)
        devices.append(Device(device_id=device_id, token=token))
        items.append(
            RegisteredDevice(
                device_id=device_id,
                device_type=device_type,
                keys=(key.public_jwk,),
                registered_ms=now_s * 1_000,
            )
        )
    registry.register_all(items)
    return devices


type Fleet = list[Device]


@dataclass(slots=True, kw_only=True)
class Traffic:
    """Sends over one API; ``receipts`` are all 202s, ``answers`` the attackers' by attack."""

    honest_api: HttpApi
    hostile_api: HttpApi
    honest: Fleet
    attackers: Sequence[tuple[Attack, Device]]
    every_s: float
    receipts: list[Receipt] = field(default_factory=list)
    honest_sent: int = 0
    honest_refused: int = 0
    answers: dict[str, Counter[int]] = field(default_factory=dict)

    def phase(self, seconds: float, *, is_attacked: bool) -> None:
        """Send for so long; blocks until all have their answers."""
        asyncio.run(self._phase(time.monotonic() + seconds, is_attacked=is_attacked))

    async def _phase(self, until_s: float, *, is_attacked: bool) -> None:
        async with asyncio.TaskGroup() as senders:
            for number, device in enumerate(self.honest):
                offset_s = self.every_s * number / len(self.honest)
                senders.create_task(self._honest(device, offset_s, until_s))
            for attack, device in self.attackers if is_attacked else ():
                senders.create_task(self._attack(attack, device, until_s))

    async def _honest(self, device: Device, offset_s: float, until_s: float) -> None:
        next_s = time.monotonic() + offset_s
        while next_s < until_s:
            await asyncio.sleep(max(0.0, next_s - time.monotonic()))
            next_s = time.monotonic() + self.every_s
            await self._sent_until_accepted(device)

    async def _sent_until_accepted(self, device: Device) -> None:
        """The fix is of the moment at which it is first sent: by it, latency is measured."""
        body = bodies.gps(_RANDOM, now_ms(), 1)
        request = Request(path="/v1/streams/gps", body=body)
        give_up_s = time.monotonic() + _PATIENCE_S
        self.honest_sent += 1
        while time.monotonic() < give_up_s:
            if await self._posted(self.honest_api, device, request, events=1) == ACCEPTED:
                return
            await asyncio.sleep(_TRY_AGAIN_S)
        self.honest_refused += 1

    async def _attack(self, attack: Attack, device: Device, until_s: float) -> None:
        counted = self.answers.setdefault(attack.name, Counter())
        while time.monotonic() < until_s:
            began_s = time.monotonic()
            status = await self._posted(self.hostile_api, device, attack.request(now_ms()))
            counted[status] += 1
            await asyncio.sleep(max(0.0, began_s + attack.every_s - time.monotonic()))

    async def _posted(
        self, api: HttpApi, device: Device, request: Request, *, events: int | None = None
    ) -> int:
        """The answer's status, 0 where none came; a 202 leaves its receipt."""
        try:
            answer = await api.post(request.path, request.body, device.headers(request))
        except NoAnswerError:
            return 0
        if answer.status == ACCEPTED:
            self.receipts.append(_receipt(answer, request.body, events))
        return answer.status


def _receipt(answer: BaseHTTPResponse, body: bytes, events: int | None) -> Receipt:
    raw_id = answer.json()["id"]
    return Receipt(raw_id=raw_id, sha256=sha256(body).hexdigest(), events=events)
