import hashlib
from copy import replace

import pytest

from clients.circuit_breaker import CircuitBreaker
from clients.flows.store import FlowsUnavailableError
from clients.kafka.producer import NotDurableError
from clients.kafka_or_spool import KafkaOrSpool
from fleetlane.events.envelope import Message, PayloadReference
from fleetlane.events.envelope_reading import message_from
from fleetlane.events.flows.files import flow_from_toml
from fleetlane.events.flows.flow import Flow
from fleetlane.events.lanes import INLINE_BYTES_MAX, LATE_AFTER_MS, Lane
from lambdas.ingest.intake import Intake
from lambdas.ingest.repeats import Repeats
from lambdas.ingest.service import InboundMessage, Ingest, Landed, Receipt
from tests.unit.lambdas.api_gateway import unlimited
from tests.unit.lambdas.fake_receipts import FakeReceipts
from tests.unit.lambdas.fakes import FakeFlows, FakeKafka, FakePayloads, FakeSpool

LARGE = bytes(range(256)) * 1024 + b"!"
NOW_MS = 1_790_000_000_000
UPLOAD = InboundMessage(
    device_id="d-1",
    device_type="acme-thermo",
    is_quarantined=False,
    stream="thermo",
    asked=Lane.STANDARD,
    arrival_millis=NOW_MS,
    body=b"hello",
    content_type="application/octet-stream",
)


class World:
    """Ingest with all that it lands in."""

    def __init__(self, *flows: Flow, topics: tuple[str, ...] = ()) -> None:
        self.kafka = FakeKafka(
            (
                "raw.fast",
                "raw.standard",
                "raw.slow",
                "raw.bulk.large",
                "raw.bulk.late",
                "raw.bulk.quarantined",
                *topics,
            )
        )
        self.payloads = FakePayloads()
        self.flows = FakeFlows(*flows)
        self.flow_problems: list[FlowsUnavailableError] = []
        self.ingest = Ingest(
            producer=self.kafka, put_payload=self.payloads.put, body_bytes_max=4_500_000
        )

    def land(self, inbound: InboundMessage) -> Receipt:
        """Land a message as ingest does, its flow looked up."""
        intake = Intake(
            rate_limiter=unlimited(),
            flows=self.flows,
            ingest=self.ingest,
            repeats=Repeats(
                store=FakeReceipts, on_unavailable=lambda _: None, breaker=CircuitBreaker()
            ),
            on_flows_unavailable=self.flow_problems.append,
        )
        return intake.land(inbound)

    def landed(self) -> tuple[str, Message]:
        """The topic and the message of the only record."""
        ((topic, record),) = [
            (topic, record) for topic, records in self.kafka.topics.items() for record in records
        ]
        return topic, message_from(record.headers, record.value)


def flow(more: str = "", *, device_types: str | None = None) -> Flow:
    text = f'stream = "thermo"\nowner = "acme"\n{more}\n[[parsers]]\nuse = "json"\n'
    if device_types is not None:
        text += f"device_types = {device_types}\n"
    return flow_from_toml(text, file="thermo.toml")


def test_a_message_of_a_stream_without_a_flow_lands_in_the_standard_lane() -> None:
    world = World()

    receipt = world.land(UPLOAD)

    topic, message = world.landed()
    assert (topic, receipt.lane, receipt.landed) == ("raw.standard", Lane.STANDARD, Landed.KAFKA)
    assert (message.device_id, message.device_type) == ("d-1", "acme-thermo")
    assert (message.stream, message.arrival_millis) == ("thermo", NOW_MS)


def test_the_record_s_key_is_its_arrival() -> None:
    world = World()

    world.land(UPLOAD)

    assert world.kafka.topics["raw.standard"][0].key == b"1790000000000"


@pytest.mark.parametrize(
    ("declared", "upload", "topic"),
    [
        ('lane = "fast"', replace(UPLOAD, asked=Lane.FAST), "raw.fast"),
        ('lane = "fast"', UPLOAD, "raw.standard"),
        ("", replace(UPLOAD, asked=Lane.FAST), "raw.standard"),
        ('lane = "slow"', replace(UPLOAD, asked=Lane.FAST), "raw.slow"),
        ("", replace(UPLOAD, is_quarantined=True), "raw.bulk.quarantined"),
        ("", replace(UPLOAD, end_millis=NOW_MS - LATE_AFTER_MS - 1), "raw.bulk.late"),
        ("", replace(UPLOAD, end_millis=NOW_MS - LATE_AFTER_MS), "raw.standard"),
        ("", replace(UPLOAD, body=LARGE), "raw.bulk.large"),
    ],
)
def test_the_lane_follows_from_what_is_known(
    declared: str, upload: InboundMessage, topic: str
) -> None:
    world = World(flow(declared))

    world.land(upload)

    assert world.landed()[0] == topic


@pytest.mark.parametrize(
    ("strategy", "topic"),
    [("stream", "raw.standard.stream.thermo"), ("device_type", "raw.standard.type.acme-thermo")],
)
def test_a_flow_may_have_a_topic_of_its_own(strategy: str, topic: str) -> None:
    declared = f'topic = "{strategy}"'
    world = World(flow(declared, device_types='["acme-thermo"]'), topics=(topic,))

    world.land(UPLOAD)

    assert world.landed()[0] == topic


def test_a_device_type_that_the_flow_does_not_name_lands_in_the_shared_topic() -> None:
    world = World(flow('topic = "device_type"', device_types='["other"]'))

    world.land(UPLOAD)

    assert world.landed()[0] == "raw.standard"


def test_a_flow_s_topic_that_does_not_exist_yet_loses_nothing_silently() -> None:
    world = World(flow('topic = "stream"'))

    with pytest.raises(NotDurableError, match=r"raw\.standard\.stream\.thermo"):
        world.land(UPLOAD)

    assert world.kafka.records() == []


def test_a_body_up_to_the_limit_travels_inside() -> None:
    world = World()

    receipt = world.land(replace(UPLOAD, body=LARGE[:INLINE_BYTES_MAX]))

    assert receipt.landed is Landed.KAFKA
    assert world.landed()[1].body == LARGE[:INLINE_BYTES_MAX]


def test_a_larger_body_is_put_into_s3_and_referred_to() -> None:
    world = World()

    receipt = world.land(replace(UPLOAD, body=LARGE))

    _, message = world.landed()
    key = f"payloads/{receipt.id}"
    assert receipt.landed is Landed.OBJECT
    assert world.payloads.objects == {key: LARGE}
    assert (message.body, message.body_bytes) == (None, len(LARGE))
    sha256 = hashlib.sha256(LARGE).hexdigest()
    assert message.reference == PayloadReference(key=key, sha256=sha256)


def test_a_flow_that_truncates_keeps_the_beginning_and_says_so() -> None:
    world = World(flow('oversize = "truncate"'))

    receipt = world.land(replace(UPLOAD, body=LARGE))

    _, message = world.landed()
    assert (receipt.lane, receipt.landed) == (Lane.STANDARD, Landed.KAFKA)
    assert message.body == LARGE[:INLINE_BYTES_MAX]
    assert message.body_bytes == INLINE_BYTES_MAX
    assert message.truncated_from_bytes == len(LARGE)


def test_a_flow_that_truncates_leaves_small_bodies_whole() -> None:
    world = World(flow('oversize = "truncate"'))

    world.land(UPLOAD)

    assert world.landed()[1].truncated_from_bytes is None


def test_the_same_key_and_body_have_the_same_id() -> None:
    keyed = replace(UPLOAD, idempotency_key="k-1")

    assert _id(keyed) == _id(replace(keyed, arrival_millis=NOW_MS + 1))


@pytest.mark.parametrize(
    "other",
    [{"body": b"other"}, {"idempotency_key": "k-2"}, {"device_id": "d-2"}, {"stream": "other"}],
    ids=str,
)
def test_the_same_key_with_anything_else_is_another_message(other: dict[str, object]) -> None:
    keyed = replace(UPLOAD, idempotency_key="k-1")

    assert _id(keyed) != _id(replace(keyed, **other))  # type: ignore[arg-type]


def test_without_a_key_equal_bodies_are_different_messages() -> None:
    assert _id(UPLOAD) != _id(UPLOAD)


def test_a_flow_that_dedupes_by_content_gives_equal_bodies_one_id() -> None:
    by_content = flow("dedupe_by_content = true")

    assert _id(UPLOAD, by_content) == _id(UPLOAD, by_content)


@pytest.mark.parametrize("body", [b"hello", LARGE], ids=["inside", "by reference"])
def test_a_message_that_kafka_does_not_take_is_spooled_as_it_would_be_there(body: bytes) -> None:
    world, spool = World(), FakeSpool()
    world.kafka.is_up = False
    world.ingest = replace(world.ingest, producer=kafka_or_spool(world.kafka, spool))

    receipt = world.land(replace(UPLOAD, body=body))

    (record,) = [record for key in spool.objects for record in spool.get(key) or ()]
    message = message_from(record.headers, record.value)
    assert (receipt.landed, message.raw_id) == (Landed.SPOOL, receipt.id)


def test_flows_that_cannot_be_read_are_reported_and_the_message_lands() -> None:
    world = World(flow('topic = "stream"'))
    world.flows.is_up = False

    receipt = world.land(UPLOAD)

    assert receipt.lane is Lane.STANDARD
    assert world.landed()[0] == "raw.standard"
    assert len(world.flow_problems) == 1


def kafka_or_spool(kafka: FakeKafka, spool: FakeSpool) -> KafkaOrSpool:
    return KafkaOrSpool(
        producer=kafka, spool=spool, breaker=CircuitBreaker(), now_ms=lambda: NOW_MS
    )


def _id(upload: InboundMessage, *flows: Flow) -> str:
    return World(*flows).land(upload).id
