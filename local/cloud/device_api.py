"""The deployed API as devices reach it: below a path of its own, by HTTP or by HTTPS."""

import secrets
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from random import Random
from typing import Final, Self
from urllib.parse import urlsplit

import httpx

from clients.devices.registry import DeviceRegistry, DeviceStatus, RegisteredDevice
from fleetlane.events.lanes import Lane
from local.simulator import bodies
from local.simulator.http_api import HttpAnswer, HttpApi
from operations.ledger import Receipt
from operations.sending.device_client import message_url, receipt_of
from operations.sending.device_key import DeviceKey

_ANSWER_TIMEOUT_S: Final = 35.0
_TOKEN_LIFETIME_S: Final = 3_600
_EVENTS: Final = 5


class DeployedApi:
    """``HttpApi`` for an API that does not begin at the root of its server."""

    def __init__(self, url: str, *, connections: int) -> None:
        self._path = urlsplit(url).path
        self._api = HttpApi(url, connections=connections, timeout_s=_ANSWER_TIMEOUT_S)

    async def post(self, path: str, body: bytes, headers: Mapping[str, str]) -> HttpAnswer:
        """Send one request; raises ``NoAnswerError``."""
        return await self._api.post(self._path + path, body, headers)

    def close(self) -> None:
        self._api.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpsDevice:
    """A weather station of its own id that sends by HTTPS.

    The server's certificate is self-signed, for ``localhost``: it is the only one trusted here.
    """

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
        return cls(
            url=server._replace(scheme="https", netloc=f"localhost:{server.port}").geturl(),
            token=key.token(device_id, now_s=now_ms // 1000, lifetime_s=_TOKEN_LIFETIME_S),
            tls=_trusting(server.hostname or "", server.port or 0),
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
        """Send the weather, and take the receipt.

        Raises:
            MessageRefusedError: Anything but a 202 came back.
            httpx.HTTPError: Nothing came back, or the server could not prove itself.
        """
        now_ms = time.time_ns() // 1_000_000
        body = bodies.weather(Random(now_ms), now_ms, _EVENTS)  # noqa: S311 - a simulation
        raw_id = str(receipt_of(self.post(stream, body))["id"])
        return Receipt(raw_id=raw_id, sha256=sha256(body).hexdigest(), events=_EVENTS)


def _trusting(host: str, port: int) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=ssl.get_server_certificate((host, port)))
    return context
