"""Devices that send to a deployed stage, and the ledger of their messages."""

import secrets
import ssl
import time
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from random import Random
from typing import Final, Self
from urllib.parse import urlsplit

import boto3
import httpx

from clients.device_api import DeviceKey, content_of, message_url
from clients.devices.registry import DeviceRegistry, DeviceStatus, RegisteredDevice
from clients.kafka.reader import KafkaReader
from clients.s3.payload_bucket import PayloadBucket
from fleetlane.events.lanes import Lane
from local.cloud.local_cloud import LocalCloud
from local.simulator import bodies
from local.simulator.http_api import HttpApi
from local.simulator.sendings import FleetPlan
from local.simulator.simulator import run_fleet
from operations.ledger.evidence import LEDGER_TOPICS, Evidence
from operations.ledger.message_results import Receipt
from operations.ledger.reconciliation import Ledger, SettlingLimits, reconcile, wait_until_settled

_CONNECTIONS: Final = 4
PLAN: Final = FleetPlan(devices=40, messages_per_device=2)
"""Small: each function is as many processes as there are requests at a time."""

_SETTLING_LIMITS: Final = SettlingLimits(deadline_s=240, quiet_s=90)
_ANSWER_TIMEOUT_S: Final = 35.0
_TOKEN_LIFETIME_S: Final = 3_600
_EVENTS: Final = 5


def registry_of(cloud: LocalCloud) -> DeviceRegistry:
    resource = boto3.resource("dynamodb", **cloud.aws.client_settings)
    return DeviceRegistry(resource.Table(cloud.resources.devices_table))


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
        raw_id = str(content_of(self.post(stream, body), wanted=202)["id"])
        return Receipt(raw_id=raw_id, sha256=sha256(body).hexdigest(), events=_EVENTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResult:
    """The ledger. ``surprises`` are answers that a device should not have received."""

    ledger: Ledger
    surprises: tuple[str, ...]


def run_trial(cloud: LocalCloud, plan: FleetPlan = PLAN) -> TrialResult:
    """Let a fleet send, and one device more by HTTPS, and wait until all has settled.

    Raises:
        MessageRefusedError: The message by HTTPS was not taken.
        RegistryUnavailableError: The devices could not be registered.
    """
    began_s = time.monotonic()
    with closing(HttpApi(cloud.api_url, connections=_CONNECTIONS)) as api:
        run = run_fleet(plan, api, registry=registry_of(cloud))
    device = HttpsDevice.registered(cloud.api_url, registry_of(cloud))
    ledger = ledger_on([*run.receipts(), device.accepted()], cloud, began_s=began_s)
    return TrialResult(ledger=ledger, surprises=run.surprises())


def ledger_on(receipts: Iterable[Receipt], cloud: LocalCloud, *, began_s: float) -> Ledger:
    """Wait until all that was accepted has settled, and reconcile the ledger.

    ``began_s`` is when the first of it was sent, by the monotonic clock.
    """
    accepted, evidence = list(receipts), Evidence()
    with closing(KafkaReader(cloud.broker.bootstrap_servers, pattern=LEDGER_TOPICS)) as reader:
        wait_until_settled(accepted, evidence, reader, limits=_SETTLING_LIMITS)
    payloads = PayloadBucket(cloud.s3, cloud.resources.parked_bucket)
    seconds = time.monotonic() - began_s
    return reconcile(accepted, evidence, payloads=payloads, seconds=seconds)
