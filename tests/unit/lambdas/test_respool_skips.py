"""What cannot go stays, alone: no object, topic or record of the spool holds up another."""

import pytest

from clients.s3.spool import records_in
from lambdas.respool.handler import numbers_of
from lambdas.respool.run import NOT_GIVEN_MAX, UNCONFIRMED_MAX, Limits
from tests.unit.lambdas.test_respool import NOW_MS, TOPIC, World, record

DEAD = "raw.fast"


@pytest.fixture
def world() -> World:
    world = World()
    world.kafka.create_missing([DEAD])
    world.kafka.leaderless.add(DEAD)
    return world


def kept(world: World) -> list[list[str]]:
    """The values of the records in each object that is left."""
    left = [records_in(content, key=key) for key, (_, content) in world.spool.objects.items()]
    return [[(one.value or b"").decode() for one in records] for records in left]


def test_an_object_that_s3_does_not_give_holds_up_no_other(world: World) -> None:
    sick = world.spooled("sick", minutes_ago=9)
    world.spooled("a", minutes_ago=5)
    world.spool.sick.add(sick)

    report = world.respool.run()

    assert (world.landed(), list(world.spool.objects)) == (["a"], [sick])
    assert (report.problem, list(report.stuck)) == (None, [sick])
    assert numbers_of(report, now_ms=NOW_MS)["oldest_s"] == 9 * 60


def test_a_topic_without_a_leader_holds_up_no_other(world: World) -> None:
    for n in range(10):
        world.spooled(f"dead {n}", minutes_ago=9, topic=DEAD)
    world.spooled("a", minutes_ago=5)

    report = world.respool.run()

    assert (world.landed(), len(world.spool.objects)) == (["a"], 10)
    assert (report.problem, len(report.stuck)) == (None, 10)


def test_a_topic_that_confirms_nothing_is_not_waited_for_piece_after_piece(world: World) -> None:
    for n in range(10 * UNCONFIRMED_MAX):
        world.spooled(f"dead {n}", minutes_ago=9, topic=DEAD)
    world.respool = world.respool_with(Limits(objects_at_a_time=UNCONFIRMED_MAX))

    report = world.respool.run()

    assert world.kafka.records_asked <= 2 * UNCONFIRMED_MAX
    assert (report.problem, len(report.stuck)) == (None, 10 * UNCONFIRMED_MAX)


def test_of_an_object_that_is_confirmed_in_part_only_the_rest_is_kept(world: World) -> None:
    records = [record(str(n), "raw.gone" if n == 7 else TOPIC) for n in range(500)]
    world.spool.put(records, now_ms=NOW_MS - 9 * 60_000)

    first = world.respool.run()
    second = world.respool.run()

    assert (len(world.landed()), kept(world)) == (499, [["7"]])
    assert [(one.records, one.refused) for one in (first, second)] == [(499, 1), (0, 1)]
    assert numbers_of(second, now_ms=NOW_MS)["oldest_s"] == 9 * 60


def test_where_the_rest_cannot_be_kept_the_whole_object_stays(world: World) -> None:
    whole = world.spool.put([record("a"), record("b", "raw.gone")], now_ms=NOW_MS).key
    world.spool.takes_more = False

    report = world.respool.run()

    assert list(world.spool.objects) == [whole]
    assert "S3 did not take it" in str(report.problem)


def test_many_objects_that_s3_does_not_give_end_a_run_and_the_next_one_begins_behind_them(
    world: World,
) -> None:
    for n in range(6 * NOT_GIVEN_MAX):
        world.spool.sick.add(world.spooled(f"sick {n}", minutes_ago=9))
    world.spooled("a", minutes_ago=5)

    first, asked = world.respool.run(), len(world.spool.asked_for)
    for _ in range(6):
        world.respool.run()

    assert "Read timed out" in str(first.problem)
    assert asked <= 3 * NOT_GIVEN_MAX
    assert (world.landed(), len(world.spool.objects)) == (["a"], 6 * NOT_GIVEN_MAX)


def test_what_could_not_go_goes_once_it_can(world: World) -> None:
    world.spool.sick.add(world.spooled("sick", minutes_ago=9))
    world.spooled("dead", minutes_ago=8, topic=DEAD)
    world.respool.run()
    world.spool.sick.clear()
    world.kafka.leaderless.clear()

    report = world.respool.run()

    assert (world.landed(), world.spool.objects) == (["sick"], {})
    assert (report.stuck, numbers_of(report, now_ms=NOW_MS)["oldest_s"]) == ({}, 0)


def test_after_an_outage_of_kafka_the_oldest_still_goes_first(world: World) -> None:
    for minutes_ago in (3, 2, 1):
        world.spooled(str(minutes_ago), minutes_ago=minutes_ago)
    world.kafka.is_up = False
    for _ in range(3):
        world.respool.run()
    world.kafka.is_up = True

    world.respool.run()

    assert world.landed() == ["3", "2", "1"]


def test_what_landed_and_s3_does_not_delete_lands_once_and_is_deleted_later(world: World) -> None:
    kept = world.spooled("a", minutes_ago=9)
    world.spool.undeletable.add(kept)
    first, second = world.respool.run(), world.respool.run()
    before = list(world.spool.objects)
    world.spool.undeletable.clear()

    last = world.respool.run()

    assert (world.landed(), before, world.spool.objects) == (["a"], [kept], {})
    assert [list(one.stuck) for one in (first, second, last)] == [[kept], [kept], []]
    ages = [numbers_of(one, now_ms=NOW_MS)["oldest_s"] for one in (second, last)]
    assert ages == [9 * 60, 0]
