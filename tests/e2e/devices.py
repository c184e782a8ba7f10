"""One device in the hand of a test, over real HTTP."""

import secrets
import time
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Self

import httpx

from clients.device_api import DeviceKey
from clients.devices.registry import DeviceStatus, RegisteredDevice
from local.platform import Platform
from operations.ledger.message_results import Receipt

ACCEPTED: Final = 202
_LIFETIME_S: Final = 3_600
_ANSWER_TIMEOUT_S: Final = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A device of an id that no other test has; the registry knows it, or not."""

    device_id: str
    key: DeviceKey
    api: str

    @classmethod
    def unknown(cls, platform: Platform) -> Self:
        device_id = f"d-{secrets.token_hex(4)}"
        return cls(device_id=device_id, key=DeviceKey.generate(), api=platform.endpoints.api)

    @classmethod
    def registered(cls, platform: Platform, status: DeviceStatus = DeviceStatus.ACTIVE) -> Self:
        device = cls.unknown(platform)
        platform.registry.register(
            RegisteredDevice(
                device_id=device.device_id,
                device_type="generic",
                status=status,
                keys=(device.key.public_jwk,),
                registered_ms=time.time_ns() // 1_000_000,
            )
        )
        return device

    def token(self, *, age_s: int = 0) -> str:
        """A token for an hour, signed so many seconds ago."""
        now_s = int(time.time()) - age_s
        return self.key.token(self.device_id, now_s=now_s, lifetime_s=_LIFETIME_S)

    def post(self, stream: str, body: bytes, **headers: str) -> httpx.Response:
        """Send a message. ``headers`` are named with ``_`` for ``-``."""
        return post(self.api, stream, body, token=self.token(), **headers)

    def accepted(self, stream: str, body: bytes, **headers: str) -> Receipt:
        """Send a message, and take the receipt."""
        return receipt_from(self.post(stream, body, **headers), body)


def post(
    api: str, stream: str, body: bytes, *, token: str | None, **headers: str
) -> httpx.Response:
    """Send a message with any token, or with none."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    if token is not None:
        given["Authorization"] = f"Bearer {token}"
    return httpx.post(
        f"{api}/v1/streams/{stream}",
        content=body,
        headers=given,
        timeout=_ANSWER_TIMEOUT_S,
        trust_env=False,
    )


def receipt_from(answer: httpx.Response, body: bytes) -> Receipt:
    """What a device keeps of a 202."""
    assert answer.status_code == ACCEPTED, answer.text
    return Receipt(raw_id=answer.json()["id"], sha256=sha256(body).hexdigest())


def problem_in(answer: httpx.Response) -> tuple[int, str, str]:
    """Status, content type and tag of a refusal (RFC 9457)."""
    return answer.status_code, answer.headers["Content-Type"], answer.json()["type"]
