"""A device that sends to the deployed API by HTTPS."""

import secrets
import ssl
import time
from dataclasses import dataclass
from hashlib import sha256
from random import Random
from typing import Final, Self
from urllib.parse import urlsplit

import httpx

from clients.devices.registry import DeviceRegistry, DeviceStatus, RegisteredDevice
from fleetlane.events.lanes import Lane
from local.simulator import bodies
from operations.ledger.message_results import Receipt
from operations.sending.device_client import message_url, receipt_of
from operations.sending.device_key import DeviceKey

_ANSWER_TIMEOUT_S: Final = 35.0
_TOKEN_LIFETIME_S: Final = 3_600
_EVENTS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpsDevice:
    """A weather station with a new id. It trusts the server's self-signed certificate alone."""

    url: str
    token: str
    tls: ssl.SSLContext

    @classmethod
    def registered(cls, api_url: str, registry: DeviceRegistry) -> Self:
        """Register a new device at an API whose address is known by HTTP."""
        now_ms = time.time_ns() // 1_000_000
        device_id, key = f"https-{secrets.token_hex(4)}", DeviceKey.generate()
        registry.register(
            RegisteredDevice(
                device_id=device_id,
                device_type="weather-station",
                status=DeviceStatus.ACTIVE,
                keys=(key.public_jwk,),
                registered_ms=now_ms,
            )
        )
        server = urlsplit(api_url)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        address = (server.hostname or "", server.port or 0)
        tls.load_verify_locations(cadata=ssl.get_server_certificate(address))
        return cls(
            url=server._replace(scheme="https", netloc=f"localhost:{server.port}").geturl(),
            token=key.token(device_id, now_s=now_ms // 1000, lifetime_s=_TOKEN_LIFETIME_S),
            tls=tls,
        )

    def post(self, stream: str, body: bytes) -> httpx.Response:
        """Send a message; raises ``httpx.HTTPError`` where nothing comes back."""
        return httpx.post(
            message_url(self.url, stream, Lane.STANDARD),
            content=body,
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "text/csv"},
            verify=self.tls,
            timeout=_ANSWER_TIMEOUT_S,
            trust_env=False,
        )

    def accepted(self, stream: str = "weather") -> Receipt:
        """Send the weather, and return the receipt.

        Raises:
            MessageRefusedError: Anything but a 202 came back.
            httpx.HTTPError: Nothing came back, or the server could not prove itself.
        """
        now_ms = time.time_ns() // 1_000_000
        body = bodies.weather(Random(now_ms), now_ms, _EVENTS)  # noqa: S311 - a simulation
        raw_id = str(receipt_of(self.post(stream, body))["id"])
        return Receipt(raw_id=raw_id, sha256=sha256(body).hexdigest(), events=_EVENTS)
