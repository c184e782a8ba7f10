"""The device's view: from the POST of a message through the local gateway to its last event."""

import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import boto3
import httpx

from benchmarks.latency.traffic import STREAMS, all_out
from benchmarks.parse.workload import EVENTS, message, number_of
from benchmarks.running.delivered import events_in
from benchmarks.running.process_tree import pin_tree
from benchmarks.running.services import BUCKET, Services
from clients.device_api import DeviceKey
from clients.devices.registry import DeviceRegistry, DeviceStatus, RegisteredDevice
from fleetlane.events.lanes import Lane
from fleetlane.events.times import now_ms
from fleetlane.events.topics import canonical_topic
from local.platform import RECEIPTS_TABLE, SPOOL_BUCKET, gateway_environment
from local.servers.gateway_process import LocalGateway
from local.servers.localstack import ensure_upload_queue
from operations.endpoints import OVERRIDES_BUCKET, PAYLOAD_BUCKET, REGISTRY_TABLE

PER_S: Final = 20.0
_ACCEPTED: Final = 202
_DEVICE: Final = "door-1"
_THREADS: Final = 8
_TOKEN_S: Final = 3_600
_ANSWER_S_MAX: Final = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """A running gateway, and one device's token for it."""

    services: Services
    url: str
    token: str

    def latencies_ms(self, *, seconds: float, unmeasured_s: float) -> list[int]:
        """Send ``PER_S`` messages a second; a message takes from its POST to its last event.

        What is sent in the first ``unmeasured_s`` does not count: then the authorizer's answer is
        cached, and connections are open.
        """
        topic = canonical_topic(STREAMS[Lane.FAST])
        begins = self.services.end_offsets(topic)
        sent_ms = self._sent(seconds + unmeasured_s)
        from_ms = min(sent_ms.values()) + round(unmeasured_s * 1000)
        all_out(lambda: self.services.end_offsets(topic))
        return [
            event.stored_ms - sent_ms[event.message]
            for event in events_in(self.services, topic, begins)
            if event.ordinal == EVENTS - 1 and sent_ms.get(event.message, 0) >= from_ms
        ]

    def _sent(self, seconds: float) -> Mapping[int, int]:
        """When the POST of each message began, by the number in the id that its receipt has."""
        began_s = time.monotonic()
        with (
            httpx.Client(base_url=self.url, timeout=_ANSWER_S_MAX, trust_env=False) as client,
            ThreadPoolExecutor(_THREADS) as threads,
        ):
            posts = []
            for number in range(round(seconds * PER_S)):
                time.sleep(max(0.0, began_s + number / PER_S - time.monotonic()))
                posts.append(threads.submit(self._posted, client, message(number).body or b""))
            return dict(post.result() for post in posts)

    def _posted(self, client: httpx.Client, body: bytes) -> tuple[int, int]:
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        sent_ms = now_ms()
        answer = client.post(f"/v1/fast/{STREAMS[Lane.FAST]}", content=body, headers=headers)
        if answer.status_code != _ACCEPTED:
            raise ConnectionError(f"{answer.status_code}: {answer.text}")
        return number_of(answer.json()["id"]), sent_ms


@contextmanager
def open_door(services: Services, folder: Path, cores: frozenset[int]) -> Iterator[Door]:
    """A gateway in front of the services, on these cores, which knows one device."""
    folder.mkdir()
    aws = services.aws
    for bucket in (PAYLOAD_BUCKET, SPOOL_BUCKET, OVERRIDES_BUCKET):
        aws.ensure_bucket(bucket)
    aws.ensure_table(REGISTRY_TABLE)
    aws.ensure_table(RECEIPTS_TABLE, key="receipt_key")
    key = DeviceKey.generate()
    table = boto3.resource("dynamodb", **aws.client_settings).Table(REGISTRY_TABLE)
    DeviceRegistry(table).register(
        RegisteredDevice(
            device_id=_DEVICE,
            device_type="generic",
            status=DeviceStatus.ACTIVE,
            keys=(key.public_jwk,),
            registered_ms=now_ms(),
        )
    )
    environment = gateway_environment(aws, kafka_bootstrap_servers=services.bootstrap_servers)
    queue = ensure_upload_queue(aws.client_settings, PAYLOAD_BUCKET)
    gateway = LocalGateway(folder, environment | {"FLOWS_BUCKET": BUCKET}, upload_queue_url=queue)
    gateway.start()
    try:
        pin_tree(gateway.pid or 0, set(cores))
        token = key.token(_DEVICE, now_s=now_ms() // 1000, lifetime_s=_TOKEN_S)
        yield Door(services=services, url=gateway.url, token=token)
    finally:
        gateway.stop()
