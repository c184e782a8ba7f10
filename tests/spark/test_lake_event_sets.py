"""Which events the lake has in the end, whatever the order and the batches in which they came."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count, permutations
from pathlib import Path

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from fleetlane.events.lake.tables import EVENTS
from fleetlane.events.times import HOUR_MS
from glue_jobs.lake.event_sets import arrived_alike
from glue_jobs.lake.upkeep import compacted
from tests.spark.lake_records import DAY_MS, MINUTE_MS, NOON_MS, Record, Sent
from tests.spark.lakes import ONCE, Lake, lake_in

pytestmark = pytest.mark.spark

type Pieces = Sequence[Sequence[Record]]
"""What comes to the lake, each part whole."""


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return lake_in(tmp_path_factory.mktemp("lake"), spark)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What messages have in the lake, which came in many orders, ten numbers apart.

    In the last two orders all pieces are in one batch, and the first of them alone.
    """

    numbers: Sequence[int]
    rows: Sequence[Row]

    def of(self, number: int) -> Sequence[Row]:
        """The rows of the ten messages from a number on, by their ids."""
        raw_ids = [Sent(number=number + n).raw_id for n in range(10)]
        return [row for row in self.rows if row.raw_id in raw_ids]


def in_all_orders(
    lake: Lake, name: str, *scenarios: Callable[[int], Pieces], first: int
) -> list[Written]:
    """Write each scenario's pieces in each order, made anew for it under numbers from ``first`` on.

    The n-th pieces of all orders and scenarios share a batch.
    """
    batches, numbers, following = defaultdict[int, list[Record]](list), [], count(first, 10)
    for pieces_of in scenarios:
        of_scenario = []
        for order in permutations(range(len(pieces_of(0)))):
            of_scenario.append(next(following))
            for nth, place in enumerate(order):
                batches[nth] += pieces_of(of_scenario[-1])[place]
        for alone in (0, 1):
            of_scenario.append(next(following))
            for nth, piece in enumerate(pieces_of(of_scenario[-1])):
                batches[min(nth, alone)] += piece
        numbers.append(of_scenario)
    query = lake.query(name)
    for number in range(len(batches)):
        query.write(number, batches[number])
    sent = [Sent(number=each + n) for its in numbers for each in its for n in range(2)]
    rows = lake.rows(EVENTS, *sent)
    return [Written(numbers=its, rows=rows) for its in numbers]


def two_parsers(number: int) -> Pieces:
    sent = Sent(number=number, stream="sets")
    older = [sent.event(n, event_id=f"{sent.raw_id}-r{n}", parser="acme@1.9") for n in range(2)]
    newer_id = f"{sent.raw_id}-avg"
    newer = [sent.event(event_id=newer_id, at_ms=NOON_MS - DAY_MS, parser="acme@1.10")]
    return older, newer, older


def a_revision_and_parsers(number: int) -> Pieces:
    sent = Sent(number=number, stream="revisions")
    return (
        [sent.event(0, parser="acme@2.0"), sent.event(1, parser="acme@2.0")],
        [sent.event(0, parser="acme@1.0", revision=1, at_ms=NOON_MS - DAY_MS)],
        [sent.event(0, parser="acme@3.0"), sent.event(1, parser="acme@3.0")],
    )


@pytest.fixture(scope="module")
def of_messages(lake: Lake) -> list[Written]:
    return in_all_orders(lake, "messages", two_parsers, a_revision_and_parsers, first=10_000)


def two_messages(number: int, stream: str) -> tuple[Sent, Sent]:
    second = Sent(number=number + 1, stream=stream, arrival_ms=NOON_MS + MINUTE_MS)
    return Sent(number=number, stream=stream), second


def one_replayed(number: int) -> Pieces:
    first, second = two_messages(number, "fields")
    both = f"both-{number}"
    return (
        [first.event(event_id=both), first.event(event_id=f"old-{number}")],
        [second.event(event_id=both)],
        [first.event(event_id=f"new-{number}", revision=1)],
    )


def both_replayed(number: int) -> Pieces:
    first, second = two_messages(number, "both")
    return (
        [first.event(event_id=f"both-{number}"), second.event(event_id=f"both-{number}")],
        [first.event(event_id=f"new-{number}", revision=1)],
        [second.event(event_id=f"other-{number}", revision=1)],
    )


def none_replayed(number: int) -> Pieces:
    return [[one.event(event_id=f"same-{number}")] for one in two_messages(number, "resent")]


@pytest.fixture(scope="module")
def of_fields(lake: Lake) -> list[Written]:
    return in_all_orders(lake, "fields", one_replayed, both_replayed, none_replayed, first=30_000)


def test_sets_of_two_parser_versions_never_mix_and_the_higher_one_stays(
    of_messages: list[Written],
) -> None:
    written, _ = of_messages

    found = {number: [row.id[-3:] for row in written.of(number)] for number in written.numbers}

    assert found == {number: ["avg"] for number in written.numbers}


def test_a_revision_outweighs_a_parser_s_version(of_messages: list[Written]) -> None:
    _, written = of_messages

    found = {
        number: [(row.id[-1], row.parser) for row in written.of(number)]
        for number in written.numbers
    }

    assert found == {number: [("0", "acme@1.0")] for number in written.numbers}


def test_a_replay_of_one_message_leaves_the_event_that_another_stands_for(
    of_fields: list[Written],
) -> None:
    written, _, _ = of_fields

    found = {
        number: {row.id: row.raw_id for row in written.of(number)} for number in written.numbers
    }

    assert found == {
        number: {
            f"both-{number}": Sent(number=number + 1).raw_id,
            f"new-{number}": Sent(number=number).raw_id,
        }
        for number in written.numbers
    }


def test_where_both_messages_are_replayed_neither_s_older_events_stay(
    of_fields: list[Written],
) -> None:
    _, written, _ = of_fields

    found = {number: [row.id for row in written.of(number)] for number in written.numbers}

    assert found == {number: [f"new-{number}", f"other-{number}"] for number in written.numbers}


def test_of_two_messages_with_the_same_event_the_first_to_arrive_has_the_row(
    of_fields: list[Written],
) -> None:
    _, _, written = of_fields

    found = {number: [row.raw_id for row in written.of(number)] for number in written.numbers}

    assert found == {number: [Sent(number=number).raw_id] for number in written.numbers}


def test_in_a_stream_without_repeats_another_message_s_event_takes_the_place_too(
    lake: Lake,
) -> None:
    first, second = two_messages(40_000, ONCE)
    replayed = first.event(event_id="replayed", revision=1)
    query = lake.query("once")

    shared = [one.event(event_id="shared") for one in (first, second)]
    query.write(0, [*shared, without_repeats(shared[0])])
    query.write(1, [replayed, without_repeats(replayed)])

    rows = lake.rows(EVENTS, first, second)
    assert {row.id: row.raw_id for row in rows} == {
        "shared": second.raw_id,
        "replayed": first.raw_id,
    }


def without_repeats(canonical: Record) -> Record:
    _, value, headers = canonical
    return f"unique.{ONCE}", value, headers


def test_a_set_that_came_again_a_day_later_is_found_by_its_events_days(lake: Lake) -> None:
    sent, again = (
        Sent(number=50_000, stream="keyed", arrival_ms=at_ms)
        for at_ms in (NOON_MS, NOON_MS + DAY_MS)
    )
    query = lake.query("keyed")

    query.write(0, [sent.event(n, event_id=f"r{n}", parser="acme@1.0") for n in range(2)])
    query.write(1, [again.event(event_id="avg", parser="acme@1.1")])

    assert [row.id for row in lake.rows(EVENTS, sent)] == ["avg"]


def test_a_new_holder_s_revisions_are_known_once_the_lease_is_back(
    spark: SparkSession, tmp_path: Path
) -> None:
    lake = lake_in(tmp_path, spark)  # in which nothing is revised yet
    sent = Sent(number=60_000, stream="leases")
    before, other = lake.query("before"), lake.query("other")
    before.write(0, [Sent(number=60_001, stream="leases").event()])
    other.write(0, [sent.event(revision=1)])
    before.batches.guard.token += 1  # as whenever the lease was taken

    before.write(1, [sent.event(3)])

    assert [(row.id[-1], row.revision) for row in lake.rows(EVENTS, sent)] == [("0", 1)]


def test_compaction_leaves_what_was_settled_as_it_is(lake: Lake) -> None:
    before = sorted(map(tuple, lake.table(EVENTS).collect()))

    compacted(lake.session, EVENTS)

    assert sorted(map(tuple, lake.table(EVENTS).collect())) == before


def test_messages_of_thousands_of_hours_apart_are_found_by_one_condition(
    spark: SparkSession,
) -> None:
    facts = Row(hours=[("gps", hour * HOUR_MS) for hour in range(0, 20_000, 2)])
    rows = spark.range(2).select(
        F.lit("gps").alias("stream"), (F.col("id") * 30_000 * HOUR_MS).alias("arrival_ms")
    )

    found = rows.where(arrived_alike(facts)).collect()

    assert [row.arrival_ms for row in found] == [0]
