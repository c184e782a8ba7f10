"""Stand-ins for Kafka, S3 and DynamoDB. Each passes the contract tests of its real twin."""

import hashlib
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence

from clients.devices.registry import RegisteredDevice
from clients.flows.store import FlowsNotPublishedError
from clients.kafka.producer import NotDurableError, RecordRefusedError
from clients.kafka.producer_record import ProducerRecord
from clients.s3.payload_bucket import PayloadMissingError, PayloadUnavailableError
from clients.s3.spool import Spooled, SpoolUnavailableError, Waiting, records_in, spooled_bytes
from fleetlane.events.envelope import KafkaPosition, PayloadReference
from fleetlane.events.flows.files import PublishedFlows
from fleetlane.events.flows.flow import Flow


class FakeKafka:
    """Topics in memory, one partition each. ``is_up`` says whether Kafka answers.

    Topics that are ``leaderless`` confirm nothing.
    ``asked`` counts how often it was waited for, ``records_asked`` for how many records.
    """

    def __init__(self, topics: Iterable[str]) -> None:
        self.topics: dict[str, list[ProducerRecord]] = {topic: [] for topic in topics}
        self.is_up = True
        self.leaderless = set[str]()
        self.asked, self.records_asked = 0, 0
        self.confirmed_s = -math.inf

    def land(self, record: ProducerRecord) -> KafkaPosition:
        (landed,) = self.land_all([record])
        if isinstance(landed, NotDurableError):
            raise landed
        return landed

    def land_all(
        self,
        records: Sequence[ProducerRecord],
        *,
        within_s: float = math.inf,
        until_s: float = math.inf,
    ) -> list[KafkaPosition | NotDurableError]:
        self.asked += 1
        self.records_asked += len(records)
        return [self._landed(record) for record in records]

    def answers(self, topic: str) -> bool:
        return self.is_up

    def serve(self) -> None:
        """Nothing comes late."""

    def create_missing(self, topics: Iterable[str]) -> tuple[str, ...]:
        missing = tuple(sorted(set(topics) - set(self.topics)))
        self.topics.update({topic: [] for topic in missing})
        return missing

    def _landed(self, record: ProducerRecord) -> KafkaPosition | NotDurableError:
        if not self.is_up:
            return NotDurableError(record.topic, 4.0, "all brokers are down")
        if record.topic not in self.topics:
            return RecordRefusedError(record.topic, 0.0, "Local: Unknown topic")
        if record.topic in self.leaderless:
            return NotDurableError(record.topic, 5.0, "Local: Message timed out")
        self.topics[record.topic].append(record)
        self.confirmed_s = time.monotonic()
        offset = len(self.topics[record.topic]) - 1
        return KafkaPosition(topic=record.topic, partition=0, offset=offset)

    def records(self) -> list[ProducerRecord]:
        return [record for records in self.topics.values() for record in records]


class FakePayloads:
    """A bucket in memory. ``is_up`` says whether S3 answers."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.is_up = True

    def put(self, key: str, body: bytes, sha256_hex: str) -> PayloadReference:
        if not self.is_up:
            raise PayloadUnavailableError(key, "S3 did not take it")
        self.objects[key] = body
        return PayloadReference(key=key, sha256=sha256_hex)

    def get(self, reference: PayloadReference, *, body_bytes: int, bytes_max: int) -> bytes:
        assert body_bytes <= bytes_max
        if reference.key not in self.objects:
            raise PayloadMissingError(reference.key)
        return self.objects[reference.key]


class FakeSpool:
    """A spool in memory. ``is_up`` says whether S3 answers; it does not give what is ``sick``."""

    def __init__(self) -> None:
        self.objects: dict[str, tuple[int, bytes]] = {}
        self.is_up, self.takes_more = True, True
        self.sick, self.undeletable = set[str](), set[str]()
        self.asked_for: list[str] = []

    def put(self, records: Sequence[ProducerRecord], *, now_ms: int) -> Spooled:
        self._check()
        if not self.takes_more:
            raise SpoolUnavailableError("S3 did not take it")
        content = spooled_bytes(records)
        key = f"spool/0/{now_ms:015d}/{hashlib.sha256(content).hexdigest()}"
        self.objects[key] = (now_ms // 60_000 * 60_000, content)
        return Spooled(key=key)

    def waiting(self) -> Iterator[Waiting]:
        self._check()
        oldest_first = sorted(self.objects.items(), key=lambda item: (item[1][0], item[0]))
        for key, (since_ms, content) in oldest_first:
            yield Waiting(key=key, since_ms=since_ms, object_bytes=len(content))

    def get(self, key: str) -> list[ProducerRecord] | None:
        self._check()
        self.asked_for.append(key)
        if key in self.sick:
            raise SpoolUnavailableError("Read timed out")
        return records_in(self.objects[key][1], key=key) if key in self.objects else None

    def delete(self, keys: Sequence[str]) -> list[str]:
        self._check()
        for key in set(keys) - self.undeletable:
            self.objects.pop(key, None)
        return [key for key in keys if key in self.undeletable]

    def _check(self) -> None:
        if not self.is_up:
            raise SpoolUnavailableError("S3 did not take it")


class FakeFlows:
    """The flows in force, in memory; ``is_up`` says whether they can be read."""

    def __init__(self, *flows: Flow) -> None:
        self.is_up = True
        self._flows = PublishedFlows(version="v1", flows=flows)

    def current(self) -> PublishedFlows:
        if not self.is_up:
            raise FlowsNotPublishedError("current")
        return self._flows


class FakeDevices:
    """A registry in memory. ``looked_up`` counts the devices that it was asked for."""

    def __init__(self, *devices: RegisteredDevice) -> None:
        self.looked_up = 0
        self._devices = {device.device_id: device for device in devices}

    def register(self, device: RegisteredDevice) -> None:
        self._devices[device.device_id] = device

    def find(self, device_id: str) -> RegisteredDevice | None:
        return self._devices.get(device_id)

    def find_all(self, device_ids: Iterable[str]) -> Mapping[str, RegisteredDevice]:
        asked = tuple(device_ids)
        self.looked_up += len(asked)
        return {one: self._devices[one] for one in asked if one in self._devices}
