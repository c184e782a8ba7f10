import time

from clients.circuit_breaker import CircuitBreaker
from clients.kafka.producer import NotDurableError
from clients.kafka.producer_record import ProducerRecord
from clients.kafka_or_spool import KafkaOrSpool
from clients.s3.spool import Spooled
from fleetlane.events.envelope import KafkaPosition
from tests.unit.lambdas.fakes import FakeKafka, FakeSpool

NOW_MS = 1_790_000_000_000
TOPIC = "raw.standard"
FOR_EVER_MS = 1_000_000_000


class World:
    """Kafka and the spool, and what lands in one of them."""

    def __init__(self, *, probe_every_ms: int = FOR_EVER_MS) -> None:
        self.kafka, self.spool = FakeKafka([TOPIC]), FakeSpool()
        self.lander = KafkaOrSpool(
            producer=self.kafka,
            spool=self.spool,
            breaker=CircuitBreaker(
                probe_every_ms=probe_every_ms, probe_every_ms_max=probe_every_ms
            ),
            now_ms=lambda: NOW_MS,
        )

    def land(self, *topics: str) -> list[type]:
        """Land a record in each topic; says what kind of place each one has."""
        return [type(place) for place in self.lander.land_all([record(one) for one in topics])]


def record(topic: str = TOPIC) -> ProducerRecord:
    return ProducerRecord(topic=topic, key=b"1", value=b"x", headers=[("ce_id", b"1a")])


def test_what_kafka_takes_is_not_spooled() -> None:
    world = World()

    assert world.land(TOPIC) == [KafkaPosition]
    assert world.spool.objects == {}


def test_what_kafka_does_not_take_is_spooled_together() -> None:
    world = World()
    world.kafka.is_up = False

    places = world.lander.land_all([record(), record()])

    assert places == 2 * [Spooled(key=next(iter(world.spool.objects)))]
    assert len(world.spool.objects) == 1


def test_kafka_is_waited_for_once() -> None:
    world = World()
    world.kafka.is_up = False

    for _ in range(10):
        world.land(TOPIC)

    assert (world.kafka.asked, len(world.spool.objects)) == (1, 1)


def test_a_probe_brings_all_back_to_kafka() -> None:
    world = World(probe_every_ms=0)
    world.kafka.is_up = False
    world.land(TOPIC)
    world.kafka.is_up = True

    assert world.land(TOPIC) + world.land(TOPIC) == [KafkaPosition, KafkaPosition]


def test_a_confirmation_that_comes_late_brings_all_back_to_kafka() -> None:
    world = World()
    world.kafka.is_up = False
    world.land(TOPIC)
    world.kafka.is_up = True

    world.kafka.confirmed_s = time.monotonic() + 1

    assert world.land(TOPIC) == [KafkaPosition]


def test_a_topic_that_is_missing_is_no_outage() -> None:
    world = World()

    assert world.land("raw.fast.stream.new", TOPIC) == [Spooled, KafkaPosition]
    assert world.land(TOPIC) == [KafkaPosition]


def test_with_both_down_nothing_is_durable_and_each_says_why() -> None:
    world = World()
    world.kafka.is_up = world.spool.is_up = False

    (place,) = world.lander.land_all([record()])

    assert isinstance(place, NotDurableError)
    assert "brokers are down; and the spool cannot be reached: S3" in place.problem


def test_where_no_time_is_left_for_kafka_the_spool_is_used_and_kafka_is_not_blamed() -> None:
    world = World()

    (place,) = world.lander.land_all([record()], until_s=time.monotonic())

    assert (type(place), world.kafka.asked) == (Spooled, 0)
    assert world.land(TOPIC) == [KafkaPosition]
