from itertools import count

import pytest

from clients.kafka.producer_record import ProducerRecord
from lambdas.respool.handler import count_run, numbers_of
from lambdas.respool.run import Limits
from lambdas.respool.service import Respool
from tests.unit.lambdas.fakes import FakeKafka, FakeSpool

MINUTE_MS = 60_000
NOW_MS = 1_790_000_000_000 // MINUTE_MS * MINUTE_MS
TOPIC = "raw.standard"
WIDE = Limits()


class World:
    """A spool, a Kafka, and respool between them. Each look at the clock takes ``tick_s``."""

    def __init__(self, *, tick_s: float = 0.0, limits: Limits = WIDE) -> None:
        self.spool, self.kafka = FakeSpool(), FakeKafka([TOPIC])
        self._tick_s = tick_s
        self.respool = self.respool_with(limits)

    def respool_with(self, limits: Limits) -> Respool:
        clock = count()
        return Respool(
            spool=self.spool,
            producer=self.kafka,
            limits=limits,
            clock_s=lambda: next(clock) * self._tick_s,
        )

    def spooled(self, *names: str, minutes_ago: int = 0, topic: str = TOPIC) -> str:
        records = [record(name, topic) for name in names]
        return self.spool.put(records, now_ms=NOW_MS - minutes_ago * MINUTE_MS).key

    def landed(self) -> list[str]:
        return [(one.value or b"").decode() for one in self.kafka.topics[TOPIC]]


def record(name: str, topic: str = TOPIC) -> ProducerRecord:
    value = name.encode()
    return ProducerRecord(topic=topic, key=b"1", value=value, headers=[("ce_id", value)])


def test_what_is_spooled_lands_as_it_is_and_leaves_the_spool() -> None:
    world = World()
    world.spooled("a", "b")

    report = world.respool.run()

    assert world.kafka.topics[TOPIC] == [record("a"), record("b")]
    assert (report.objects, report.records, world.spool.objects) == (1, 2, {})


def test_an_empty_spool_is_nothing_to_do() -> None:
    world = World()

    report = world.respool.run()

    assert set(numbers_of(report, now_ms=NOW_MS).values()) == {0}


def test_the_oldest_minute_goes_first() -> None:
    world = World()
    for minutes_ago in (1, 3, 0, 2):
        world.spooled(str(minutes_ago), minutes_ago=minutes_ago)

    world.respool.run()

    assert world.landed() == ["3", "2", "1", "0"]


def test_while_kafka_is_unavailable_all_stays_and_one_object_is_tried() -> None:
    world = World()
    for n in range(50):
        world.spooled(str(n), minutes_ago=7)
    world.kafka.is_up = False

    report = world.respool.run()

    assert (len(world.spool.objects), world.kafka.asked) == (50, 1)
    assert numbers_of(report, now_ms=NOW_MS)["oldest_s"] == 7 * 60
    assert "brokers are down" in str(report.problem)


def test_an_object_that_kafka_refuses_stays_and_holds_no_other_up() -> None:
    world = World()
    refused = world.spooled("x", minutes_ago=9, topic="raw.fast.stream.gone")
    world.spooled("a", minutes_ago=1)

    report = world.respool.run()

    assert (world.landed(), list(world.spool.objects)) == (["a"], [refused])
    assert (report.refused, report.problem) == (1, None)
    assert numbers_of(report, now_ms=NOW_MS)["oldest_s"] == 9 * 60


def test_an_unreadable_object_stays_is_reported_and_holds_no_other_up() -> None:
    world = World()
    world.spool.objects["spool/0/strange"] = (0, b"what?")
    world.spooled("a")

    report = world.respool.run()

    assert (world.landed(), list(world.spool.objects)) == (["a"], ["spool/0/strange"])
    assert [one.key for one in report.unreadable] == ["spool/0/strange"]


def test_what_landed_and_was_not_deleted_lands_again_with_the_ids_it_had() -> None:
    world = World()
    world.spooled("a")
    before = dict(world.spool.objects)
    world.respool.run()
    world.spool.objects.update(before)

    world.respool.run()

    assert world.kafka.topics[TOPIC] == [record("a"), record("a")]
    assert world.spool.objects == {}


def test_nothing_is_deleted_before_kafka_confirms_it() -> None:
    world = World()
    kept = world.spooled("a", "b")
    world.kafka.leaderless.add(TOPIC)

    world.respool.run()

    assert list(world.spool.objects) == [kept]


def test_a_run_ends_in_time_and_says_what_is_left() -> None:
    world = World(tick_s=1.0, limits=Limits(seconds=9.5, objects_at_a_time=1))
    for minutes_ago in range(10):
        world.spooled(str(minutes_ago), minutes_ago=minutes_ago)

    report = world.respool.run()

    assert world.landed() == ["9", "8", "7"]
    assert numbers_of(report, now_ms=NOW_MS)["oldest_s"] == 6 * 60


def test_a_run_in_which_s3_is_slow_ends_in_time_and_what_it_landed_is_deleted() -> None:
    spool, kafka = FakeSpool(), FakeKafka([TOPIC])
    for n in range(1_000):
        spool.put([record(str(n))], now_ms=NOW_MS)
    respool = Respool(
        spool=spool,
        producer=kafka,
        limits=Limits(seconds=40),
        clock_s=lambda: len(spool.asked_for),  # a second each
    )

    report = respool.run()

    assert len(spool.asked_for) < 100
    assert len(kafka.topics[TOPIC]) == 1_000 - len(spool.objects)
    assert numbers_of(report, now_ms=NOW_MS + MINUTE_MS)["oldest_s"] == 60


def test_a_run_takes_so_many_objects_and_no_more() -> None:
    world = World(limits=Limits(objects=3, objects_at_a_time=2))
    for n in range(9):
        world.spooled(str(n))

    report = world.respool.run()

    assert (report.objects, len(world.spool.objects)) == (3, 6)


def test_no_more_is_read_at_a_time_than_may_be_held() -> None:
    world = World(limits=Limits(bytes_at_a_time=200))
    for n in range(4):
        world.spooled(f"{n}" * 150)

    world.respool.run()

    assert (world.kafka.asked, world.spool.objects) == (4, {})


def test_a_spool_that_does_not_answer_ends_the_run_and_is_no_crash() -> None:
    world = World()
    world.spool.is_up = False

    report = world.respool.run()

    assert "the spool cannot be reached" in str(report.problem)
    assert "oldest_s" not in numbers_of(report, now_ms=NOW_MS)


def test_every_run_is_counted_even_where_nothing_waits(capsys: pytest.CaptureFixture[str]) -> None:
    count_run(numbers_of(World().respool.run(), now_ms=NOW_MS))

    logged = capsys.readouterr().out
    assert '"OldestSpooledSeconds":[0]' in logged
    assert '"service":"respool"' in logged
