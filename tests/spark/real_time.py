"""The fast lane as a job of its own, in either mode: started, sent to, and read from."""

import gzip
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Final

import boto3
import orjson

from clients.flows.store import FlowStore
from clients.kafka.producer import KafkaProducer
from clients.kafka.producer_record import ProducerRecord
from clients.kafka.reader import KafkaReader
from clients.kafka.topics import KafkaTopics
from fleetlane.events.canonical import CanonicalEvent, canonical_event_from
from fleetlane.events.envelope import Header, Record, headers_of
from fleetlane.events.flows.files import flow_from_toml
from fleetlane.events.flows.flow import topics_of
from fleetlane.events.heartbeats import Heartbeat, heartbeat_from
from fleetlane.events.job_arguments import HostArguments, KafkaSecurity, ParseLaneArguments
from fleetlane.events.lanes import Lane, LaneTrigger
from fleetlane.events.names import random_raw_id
from fleetlane.events.times import now_ms
from fleetlane.events.topics import FLEET_HEARTBEATS, raw_key
from local.servers.kafka import KafkaBroker
from local.servers.localstack import LocalAws
from local.spark.jobs import JobSettings
from tests.spark.killed_jobs import WAIT_S, checkpoint_folder, killable_settings
from tests.unit.glue_jobs.conftest import message_of

BUCKET: Final = "real-time-flows"
STREAM: Final = "pulse"
FLOW: Final = f"""
stream = "{STREAM}"
owner = "acme"
lane = "fast"
[[parsers]]
use = "json"
"""
RAW: Final = "raw.fast"
CANONICAL: Final = f"canonical.{STREAM}"
OUTPUTS: Final = (CANONICAL, "fleet.parsed", "parked", "raw.slow", "raw.bulk.large")
ODD_SHARE: Final = 0.2
STEP, BEGIN = 40, 1_000_000
"""Those sent by steps; a job reads also what tests before sent."""


def prepared(folder: Path, broker: KafkaBroker, aws: LocalAws) -> JobSettings:
    """Topics, and the flow in force."""
    flow = flow_from_toml(FLOW, file="test.toml")
    servers = broker.bootstrap_servers
    topics = KafkaTopics(bootstrap_servers=servers, partitions=2, replication=1)
    topics.create_missing(topics_of([flow]))
    settings = killable_settings(folder, bucket=BUCKET, broker=broker, aws=aws)
    store = FlowStore(boto3.client("s3", **aws.client_settings), BUCKET)
    store.make_current(store.publish([flow]))
    return settings


def fast_lane(
    settings: JobSettings, trigger: LaneTrigger, *, checkpoints: Path | None = None
) -> Sequence[str]:
    """The arguments of its host."""
    arguments = ParseLaneArguments(
        kafka_bootstrap_servers=settings.resources.kafka_bootstrap_servers,
        kafka_security=KafkaSecurity.PLAINTEXT,
        checkpoint_folder=(checkpoints or checkpoint_folder(settings)).as_uri(),
        lane=Lane.FAST,
        flows_bucket=BUCKET,
        payload_bucket=BUCKET,
        parked_bucket=BUCKET,
        trigger=trigger,
        real_time_batch_ms=5_000,
        parse_ms_max=10_000,  # a busy machine is no outcome
    )
    host = HostArguments(application="fast", jobs="parse_lane")
    return [*host.to_argv(), *arguments.to_argv()]


class Pulses:
    """Sends numbered messages of the fast lane, and reads what came of them."""

    def __init__(self, settings: JobSettings) -> None:
        self._servers = settings.resources.kafka_bootstrap_servers
        self._producer = KafkaProducer(bootstrap_servers=self._servers, delivery_timeout_s=30)
        self._outputs = KafkaReader(self._servers, topics=OUTPUTS, is_from_end=True)
        self._beats = KafkaReader(self._servers, topics=[FLEET_HEARTBEATS], is_from_end=True)
        self._outputs.read_available()
        self.records, self.sent = list[Record](), BEGIN

    def close(self) -> None:
        self._outputs.close()
        self._beats.close()

    def send(self, records: Sequence[ProducerRecord]) -> None:
        landed = self._producer.land_all(records)
        assert not any(isinstance(one, Exception) for one in landed), landed

    def read(self) -> None:
        self.records += self._outputs.read_available()

    def send_step(self) -> None:
        """Send the next few plain messages."""
        numbers = range(self.sent, self.sent + STEP)
        self.send([pulse(number) for number in numbers])
        self.sent = numbers.stop

    def send_step_and_wait(self) -> None:
        self.send_step()
        wait_until(self.has_all)

    def events(self) -> list[CanonicalEvent]:
        """All canonical events so far, each as often as it was written."""
        self.read()
        values = [one.value or b"" for one in self.records if one.topic == CANONICAL]
        return [canonical_event_from(value) for value in values]

    def has_all(self) -> bool:
        """Whether there are events of all messages that were sent by steps."""
        return {event.data["number"] for event in self.events()} >= set(range(BEGIN, self.sent))

    def attempts(self) -> int:
        self.read()
        return sum(one.topic == "fleet.parsed" for one in self.records)

    def wait_for_real_time(self) -> list[Heartbeat]:
        """Until both partitions' tasks of one run send heartbeats; what was sent before is old."""
        self._beats.read_available()
        beats = list[Heartbeat]()

        def both_beat() -> bool:
            found = [heartbeat_from(one.value) for one in self._beats.read_available()]
            beats.extend(beat for beat in found if beat is not None)
            return len({beat.task for beat in beats if beat.run == beats[-1].run}) == 2

        wait_until(both_beat)
        return beats


def pulse(number: int, body: bytes | None = None, **changes: object) -> ProducerRecord:
    body = b'{"number": %d}' % number if body is None else body
    fields = {
        "raw_id": random_raw_id(),
        "device_id": f"d-{number % 97}",
        "stream": STREAM,
        "arrival_millis": now_ms(),
        "lane": Lane.FAST,
    }
    message = message_of(body, **fields | changes)
    key = raw_key(message.arrival_millis + number)
    return ProducerRecord(topic=RAW, key=key, value=message.body, headers=headers_of(message))


def odd_and_plain(count: int, seed: int) -> list[ProducerRecord]:
    """Messages of which a part are anything but plain."""
    random = Random(seed)  # noqa: S311 - no secret
    return [
        random.choice(_ODD)(number) if random.random() < ODD_SHARE else pulse(number)
        for number in range(count)
    ]


def _many(number: int) -> ProducerRecord:
    events = [{"number": number, "of": place} for place in range(50)]
    return pulse(number, orjson.dumps(events))


def _bare(number: int, headers: list[Header]) -> ProducerRecord:
    return ProducerRecord(topic=RAW, key=b"%d" % number, value=b"{}", headers=headers)


_ODD: Final[Sequence[Callable[[int], ProducerRecord]]] = (
    lambda number: pulse(number, b"{"),
    lambda number: pulse(number, b""),
    lambda number: pulse(number, b"\x00\xff" * 500),
    lambda number: pulse(number, b"[]"),
    lambda number: pulse(number, gzip.compress(b'{"number": 1}', mtime=0), body_encoding="gzip"),
    lambda number: pulse(number, gzip.compress(b" " * (5 << 20), mtime=0), body_encoding="gzip"),
    lambda number: pulse(number, b"no gzip", body_encoding="gzip"),
    lambda number: pulse(number, stream="unknown-stream"),
    lambda number: pulse(number, device_id="d-\u00fc\u4e2d"),
    lambda number: pulse(number, b'{"number": %d, "text": "%s"}' % (number, b"y" * 100_000)),
    lambda number: pulse(number, other_headers=(("x", None), ("x", b"\xff"), ("\u00fc", b""))),
    lambda number: pulse(number, attempt=3, revision=2, via="gateway-1", firmware="2.0"),
    _many,
    lambda number: _bare(number, []),
    lambda number: _bare(number, [("ce_id", b"\xff"), ("ce_id", None), ("content-type", b"")]),
    lambda number: replace_key(pulse(number), b""),
)


def replace_key(record: ProducerRecord, key: bytes) -> ProducerRecord:
    return ProducerRecord(topic=RAW, key=key, value=record.value, headers=record.headers)


def wait_until(is_so: Callable[[], bool], *, wait_s: float = WAIT_S) -> None:
    until_s = time.monotonic() + wait_s
    while not is_so():
        assert time.monotonic() < until_s, "it took too long"
        time.sleep(0.2)


def open_pulses(settings: JobSettings) -> Iterator[Pulses]:
    """To be yielded from by a fixture."""
    with closing(Pulses(settings)) as sent:
        yield sent
