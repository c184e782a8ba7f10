"""What the standing ledger says of each message, and its table, in a session of Spark."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import replace
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from clients.accepted_counts import AcceptedMinute
from fleetlane.events.flows.files import PublishedFlows
from fleetlane.events.flows.flow import Flow, ParserRule
from fleetlane.events.lake.tables import (
    EVENTS,
    LEDGER,
    MADE_UP,
    PARKED,
    PARSED,
    RAW,
    RECEIVED,
    REPEATS,
    LakeTable,
)
from fleetlane.events.lanes import Lane
from fleetlane.events.metrics import NO_FLOW_STREAM
from fleetlane.events.times import DAY_MS, HOUR_MS
from glue_jobs.engine.session import table_name, use_catalog
from glue_jobs.lake.main import ensure_table
from glue_jobs.standing_ledger.balance import LedgerHour, MissingMessage, landed_hours
from glue_jobs.standing_ledger.lake_tables import LedgerTables
from glue_jobs.standing_ledger.main import landed_messages, positions_rows
from glue_jobs.standing_ledger.messages import LakeRows, judged_messages
from glue_jobs.standing_ledger.positions import NotedPositions, Positions
from tests.spark.lake_records import NOON_MS
from tests.spark.lakes import NO_CODE_TO_COMPILE

pytestmark = pytest.mark.spark

A, B = "a" * 64, "b" * 64
STANDARD, SLOW = f"raw.{Lane.STANDARD}", f"raw.{Lane.SLOW}"
PASSED, KEPT, ARCHIVED = 300, 200, 100
"""The lane has read 300 records of each topic, of which the lake knows all of 200."""

_PLACE = "source_topic string, source_partition int, source_offset bigint"
SCHEMAS = {
    "raw": "topic string, partition int, offset bigint, kafka_ms bigint, sha256 string, id string,"
    " stream string, lane string, attempt int, arrival_ms bigint",
    "received": f"id string, stream string, lane string, {_PLACE}, received_ms bigint",
    "parsed": "id string, outcome string, revision int, attempt int, events bigint, parser string,"
    f" {_PLACE}",
    "parked": "id string, attempt int, parked_from string, reason string",
    "events": "raw_id string, revision int, id string, parser string",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What the tables hold of one message, whose id is its name."""

    id: str
    stream: str = "gps"
    rows: Mapping[str, Sequence[tuple[object, ...]]] = field(default_factory=dict)

    def _with(self, table: str, *row: object) -> "Message":
        return replace(self, rows={**self.rows, table: [*self.rows.get(table, ()), row]})

    def landed(
        self,
        offset: int,
        *,
        sha256: str = A,
        topic: str = STANDARD,
        attempt: int = 1,
        arrival_ms: int = NOON_MS,
    ) -> "Message":
        at = (topic, 0, offset, NOON_MS + offset, sha256, self.id, self.stream, "standard")
        return self._with("raw", *at, attempt, arrival_ms)

    def received(self, offset: int) -> "Message":
        return self._with(
            "received", self.id, self.stream, "standard", STANDARD, 0, offset, NOON_MS
        )

    def attempted(
        self,
        outcome: str,
        offset: int,
        *,
        topic: str = STANDARD,
        attempt: int = 1,
        events: int = 0,
        revision: int = 0,
    ) -> "Message":
        row = (self.id, outcome, revision, attempt, events, "json@1", topic, 0, offset)
        return self._with("parsed", *row)

    def kept(self, events: int, *, revision: int = 0, parser: str = "json@1") -> "Message":
        messages = self
        for ordinal in range(events):
            messages = messages._with("events", self.id, revision, f"{self.id}-{ordinal}", parser)
        return messages

    def parked(self, offset: int, *, reason: str = "malformed") -> "Message":
        return self._with("parked", self.id, 1, f"{STANDARD}/0/{offset}", reason)


WHOLE = [
    (Message(id="parsed").landed(1).received(1).attempted("parsed", 1, events=2).kept(2), "parsed"),
    (Message(id="empty").landed(2).attempted("empty", 2), "empty"),
    (Message(id="parked").landed(3).attempted("parked", 3).parked(3), "parked"),
    (Message(id="no message").landed(4).parked(4, reason="bad_envelope"), "parked"),
    (Message(id="not archived").received(5).attempted("parsed", 5, events=1).kept(1), "parsed"),
    (
        Message(id="replayed")
        .landed(6)
        .attempted("parked", 6)
        .parked(6)
        .landed(7, attempt=2)
        .attempted("parsed", 7, attempt=2, events=1, revision=1)
        .kept(1, revision=1),
        "parsed",
    ),
    (
        Message(id="shared", stream="fields").landed(8).attempted("parsed", 8, events=3).kept(1),
        "parsed",
    ),
    (
        Message(id="newer").landed(9).attempted("parsed", 9, events=3).kept(1, parser="json@2"),
        "parsed",
    ),
]
WAITS = [
    Message(id="unread").landed(PASSED + 1),
    Message(id="just read").landed(KEPT + 1),
    Message(id="events to come").landed(KEPT + 2).attempted("parsed", KEPT + 2, events=2).kept(1),
    Message(id="parked to come").landed(KEPT + 3).attempted("parked", KEPT + 3),
    Message(id="diverted")
    .landed(20)
    .attempted("diverted", 20)
    .landed(PASSED, topic=SLOW, attempt=2),
    Message(id="replaced")
    .landed(21)
    .attempted("parsed", 21, events=2)
    .landed(22, attempt=2)
    .kept(1, revision=1),
    Message(id="diverted just now").landed(ARCHIVED + 1).attempted("diverted", ARCHIVED + 1),
]
GONE = "its record was deleted before its lane read it"
NOTHING = "its lane read it, and nothing came of it"
LOST = [
    (Message(id="deleted").received(5).landed(5, topic="raw.fast"), GONE),
    (Message(id="nothing").landed(30), NOTHING),
    (
        Message(id="events").landed(31).attempted("parsed", 31, events=2).kept(1),
        "of which 1 are in the lake",
    ),
    (Message(id="no copy").landed(32).attempted("parked", 32), "parked, but not in the lake"),
    (Message(id="went").landed(33).attempted("diverted", 33), "diverted, and in no topic any more"),
]
TWO = (
    Message(id="two bodies")
    .landed(40)
    .landed(41, sha256=B)
    .attempted("parsed", 40, events=1)
    .kept(1)
)


def noted() -> NotedPositions:
    """The fast lane has not read its first ten records, which are gone."""
    found = NotedPositions()
    fast = ("raw.fast", 0)
    for at_ms, passed, archived in ((1, ARCHIVED, 1), (2, KEPT, 0), (3, PASSED, 0)):
        partitions = [(STANDARD, 0), (SLOW, 0)]
        found.note(
            Positions(
                at_ms=at_ms,
                begins={**dict.fromkeys(partitions, 0), fast: 10},
                passed=dict.fromkeys(partitions, passed),
                archived=dict.fromkeys(partitions, archived),
                kept={("fleet.parsed", 0): 2},
                deduped={},
                ends={**dict.fromkeys(partitions, at_ms), ("fleet.parsed", 0): at_ms},
            )
        )
    return found


def rows_of(
    spark: SparkSession, messages: Iterable[Message], *, has_archive: bool = True
) -> LakeRows:
    known = list(messages)
    frames: dict[str, DataFrame] = {
        table: spark.createDataFrame(
            [row for one in known for row in one.rows.get(table, ())], schema
        )
        for table, schema in SCHEMAS.items()
    }
    raw = frames.pop("raw")
    return LakeRows(raw=raw if has_archive else None, counted_streams=["gps"], **frames)


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    session = spark.newSession()
    for name, value in NO_CODE_TO_COMPILE.items():
        session.conf.set(name, value)
    return session


@pytest.fixture(scope="module")
def judged(session: SparkSession) -> Mapping[tuple[str, str | None], Row]:
    messages = [*(one for one, _ in WHOLE), *WAITS, *(one for one, _ in LOST), TWO]
    positions = positions_rows(session, noted())
    rows = judged_messages(rows_of(session, messages), positions, now_ms=NOON_MS).collect()
    return {(row.id, row.sha256): row for row in rows}


def test_a_message_that_is_whole_in_the_lake_has_its_outcome(
    judged: Mapping[tuple[str, str | None], Row],
) -> None:
    found = {row.id: row.end for row in judged.values()}

    assert {one.id: found[one.id] for one, _ in WHOLE} == {one.id: end for one, end in WHOLE}


def test_a_message_waits_for_its_lane_and_for_the_lake(
    judged: Mapping[tuple[str, str | None], Row],
) -> None:
    found = {row.id: (row.end, row.problem) for row in judged.values()}

    assert {one.id: found[one.id] for one in WAITS} == {one.id: ("waiting", None) for one in WAITS}


@pytest.mark.parametrize(("messages", "problem"), LOST, ids=[one.id for one, _ in LOST])
def test_a_message_that_neither_ended_nor_waits_is_missing(
    judged: Mapping[tuple[str, str | None], Row], messages: Message, problem: str
) -> None:
    row = judged[messages.id, A]

    assert row.end == "missing"
    assert problem in row.problem


def test_of_two_bodies_under_one_id_the_one_without_an_outcome_is_missing(
    judged: Mapping[tuple[str, str | None], Row],
) -> None:
    assert (judged[TWO.id, A].end, judged[TWO.id, B].end) == ("parsed", "missing")


def test_without_an_archive_messages_are_those_of_the_metadata(session: SparkSession) -> None:
    messages = [
        Message(id="went").received(33),
        Message(id="diverted").received(34).attempted("diverted", 34),
    ]
    positions = positions_rows(session, noted())

    rows = judged_messages(
        rows_of(session, messages, has_archive=False), positions, now_ms=NOON_MS
    ).collect()

    assert {row.id: row.end for row in rows} == {"went": "missing", "diverted": "waiting"}


def test_messages_are_counted_by_hour_stream_and_lane_and_the_missing_named(
    session: SparkSession,
) -> None:
    messages = [WHOLE[0][0], WAITS[0], LOST[1][0].landed(35)]
    judged = judged_messages(
        rows_of(session, messages), positions_rows(session, noted()), now_ms=NOON_MS
    )

    [hour] = landed_hours(judged, counted_until_ms=NOON_MS)

    assert hour == LedgerHour(
        hour_ms=NOON_MS,
        stream="gps",
        lane="standard",
        landed=4,
        landed_before=0,
        duplicate=1,
        parsed=1,
        waiting=1,
        missing=1,
        missing_messages=(MissingMessage(id="nothing", sha256=A, problem=NOTHING),),
    )


def test_what_lands_again_in_a_later_hour_is_counted_in_both(session: SparkSession) -> None:
    again = Message(id="again").landed(50).attempted("parsed", 50, events=1).kept(1)
    again = again.landed(51).landed(52, arrival_ms=NOON_MS + HOUR_MS)
    judged = judged_messages(
        rows_of(session, [again]), positions_rows(session, noted()), now_ms=NOON_MS
    )

    hours = landed_hours(judged, counted_until_ms=NOON_MS + HOUR_MS)

    found = [(one.hour_ms, one.landed, one.landed_before, one.duplicate) for one in hours]
    assert sorted(found) == [(NOON_MS, 2, 2, 1), (NOON_MS + HOUR_MS, 1, 0, 0)]
    assert [one.parsed for one in hours] == [1, 1]


@pytest.fixture(scope="module")
def tables(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> LedgerTables:
    return tables_in(tmp_path_factory.mktemp("ledger"), session)


def tables_in(folder: Path, session: SparkSession) -> LedgerTables:
    use_catalog(session, warehouse=folder.as_uri(), uri=f"jdbc:sqlite:{folder}/catalog.db")
    tables = LedgerTables(session, has_archive=True)
    assert tables.snapshots() is None
    for table in (RECEIVED, PARSED, PARKED, EVENTS, REPEATS, RAW, LEDGER):
        ensure_table(session, table)
    return tables


def test_an_hour_s_rows_take_the_place_of_those_before(
    session: SparkSession, tables: LedgerTables
) -> None:
    missing = (MissingMessage(id="1ab", sha256=None, problem="gone"),)
    first = LedgerHour(
        hour_ms=NOON_MS, stream="gps", lane="fast", landed=1, missing=1, missing_messages=missing
    )
    later = LedgerHour(hour_ms=NOON_MS + HOUR_MS, stream="gps", lane="fast", landed=1, waiting=1)
    again = replace(first, missing=0, missing_messages=(), parsed=1)

    for hour in (first, later, again):
        tables.write([hour.record(is_over=True, checked_ms=NOON_MS)])

    rows = session.table(table_name(session, LEDGER)).orderBy("hour_ms").collect()
    assert [(row.parsed, row.waiting, row.missing, row.accepted) for row in rows] == [
        (1, 0, 0, None),
        (0, 1, 0, None),
    ]
    assert tables.hours() == {NOON_MS: True, NOON_MS + HOUR_MS: False}
    assert tables.found(since_ms=NOON_MS) == (0, 0)


def test_what_ingest_counted_of_an_hour_can_be_read_again(tables: LedgerTables) -> None:
    hour_ms = NOON_MS - DAY_MS
    known = LedgerHour(hour_ms=hour_ms, stream="gps", lane="fast", landed=4, accepted=5)
    unknown = replace(known, lane="bulk", accepted=None)

    tables.write([one.record(is_over=True, checked_ms=NOON_MS) for one in (known, unknown)])

    counted = AcceptedMinute(stream="gps", lane=Lane.FAST, minute_ms=hour_ms)
    assert tables.accepted([hour_ms]) == {counted: 5}
    assert tables.accepted([]) == {}


def test_empty_tables_have_no_messages(session: SparkSession, tables: LedgerTables) -> None:
    rows = tables.rows_of([NOON_MS], counted_streams=["gps"])
    judged = judged_messages(rows, positions_rows(session, noted()), now_ms=NOON_MS)

    assert landed_hours(judged, counted_until_ms=NOON_MS) == []
    assert tables.touched_hours(since_ms=0) == set()
    assert tables.snapshots() is not None


def test_what_was_made_up_is_in_no_ledger(session: SparkSession, tables: LedgerTables) -> None:
    own = {"id": "'1made'", "source_topic": f"'{MADE_UP}'", "received_ms": NOON_MS}
    own |= {"parsed_ms": NOON_MS, "outcome": "'parsed'"}
    for table in (RECEIVED, PARSED):
        insert(session, table, own)

    rows = tables.rows_of([NOON_MS], counted_streams=["gps"])
    judged = judged_messages(rows, positions_rows(session, noted()), now_ms=NOON_MS)

    assert session.table(table_name(session, RECEIVED)).count() == 1
    assert landed_hours(judged, counted_until_ms=NOON_MS) == []
    assert tables.touched_hours(since_ms=0) == set()


def test_an_arrival_that_no_hour_holds_ends_no_check(
    session: SparkSession, tables: LedgerTables
) -> None:
    insert(session, RAW, {"arrival_ms": -(2**63), "kafka_ms": NOON_MS, "id": "'1absurd'"})

    rows = tables.rows_of([NOON_MS], counted_streams=["gps"])

    assert tables.touched_hours(since_ms=NOON_MS) == set()
    assert rows.raw is not None
    assert rows.raw.count() == 0


def insert(session: SparkSession, table: LakeTable, values: Mapping[str, object]) -> None:
    """Insert a row of noon's day; what it does not say is made up."""
    headers = "array<struct<key:string,value:binary>>"
    others = {"string": "'x'", "boolean": "false", "date": "DATE '2025-11-03'", "binary": "X'00'"}
    others |= {headers: f"cast(array() as {headers})"}
    row = [values.get(one.name, others.get(one.type, 1)) for one in table.columns]
    name = table_name(session, table)
    session.sql(f"INSERT INTO {name} VALUES ({', '.join(map(str, row))})")  # noqa: S608 - ours


class Flows:
    """One flow, whose events are their messages' own."""

    def current(self) -> PublishedFlows:
        flow = Flow(stream="gps", owner="fleet", parsers=(ParserRule(use="json"),))
        return PublishedFlows.of([flow])


def test_a_message_that_lands_again_hours_after_its_hour_was_checked_is_not_missing(
    spark: SparkSession, tmp_path: Path
) -> None:
    session, later_ms = spark.newSession(), NOON_MS + 3 * HOUR_MS
    tables = tables_in(tmp_path, session)
    message = {"id": "'1again'", "stream": "'gps'", "lane": "'standard'", "revision": 0}
    attempt = {"source_topic": f"'{STANDARD}'", "source_partition": 0, "source_offset": 60}
    attempt |= {"received_ms": NOON_MS, "parsed_ms": NOON_MS, "outcome": "'parsed'", "events": 1}
    event = {"day": "DATE '2025-10-29'", "raw_id": "'1again'", "id": "'1again-0'"}
    times = dict.fromkeys(("first_event_ms", "last_event_ms"), NOON_MS - 5 * DAY_MS)
    insert(session, PARSED, message | attempt | times)
    insert(session, EVENTS, message | event | {"arrival_ms": NOON_MS})
    for offset, arrival_ms in ((60, NOON_MS), (61, later_ms)):
        place = {"topic": f"'{STANDARD}'", "partition": 0, "offset": offset, "sha256": f"'{A}'"}
        insert(session, RAW, message | place | {"arrival_ms": arrival_ms, "kafka_ms": arrival_ms})

    [hour] = landed_messages(session, tables, Flows(), [later_ms], noted(), later_ms + HOUR_MS)

    assert (hour.hour_ms, hour.landed, hour.parsed, hour.missing) == (later_ms, 1, 1, 0)


class CommitsBeside(LedgerTables):
    """Spark gives up what it cached when another commits to a table that it was read from."""

    def rows_around(self, lake: LakeRows, ids: DataFrame, hours: Collection[int]) -> LakeRows:
        ids.sparkSession.catalog.clearCache()
        return super().rows_around(lake, ids, hours)


def test_a_check_does_not_depend_on_what_others_commit_meanwhile(
    spark: SparkSession, tmp_path: Path
) -> None:
    session = spark.newSession()
    tables_in(tmp_path, session)
    message = {"id": "'1lost'", "stream": "'gps'", "lane": "'standard'"}
    place = {"topic": f"'{STANDARD}'", "partition": 0, "offset": 60, "sha256": f"'{A}'"}
    insert(session, RAW, message | place | {"arrival_ms": NOON_MS, "kafka_ms": NOON_MS})
    tables = CommitsBeside(session, has_archive=True)

    [hour] = landed_messages(session, tables, Flows(), [NOON_MS], noted(), NOON_MS + HOUR_MS)

    assert (hour.landed, hour.missing) == (1, 1)


def test_an_event_that_another_message_gave_before_is_there_whatever_its_flow_says_by_now(
    spark: SparkSession, tmp_path: Path
) -> None:
    session = spark.newSession()
    tables = tables_in(tmp_path, session)
    message = {"id": "'1alike'", "stream": "'gps'", "lane": "'standard'", "revision": 0}
    attempt = {"source_topic": f"'{STANDARD}'", "source_partition": 0, "source_offset": 60}
    attempt |= {"received_ms": NOON_MS, "parsed_ms": NOON_MS, "outcome": "'parsed'", "events": 1}
    place = {"topic": f"'{STANDARD}'", "partition": 0, "offset": 60, "sha256": f"'{A}'"}
    insert(session, RAW, message | place | {"arrival_ms": NOON_MS, "kafka_ms": NOON_MS})
    insert(session, PARSED, message | attempt)
    insert(session, REPEATS, message | {"raw_id": "'1alike'", "arrival_ms": NOON_MS})

    [hour] = landed_messages(session, tables, Flows(), [NOON_MS], noted(), NOON_MS + HOUR_MS)

    assert (hour.parsed, hour.missing) == (1, 0)


def test_streams_that_have_no_flow_are_one_row_whatever_devices_call_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    session = spark.newSession()
    tables = tables_in(tmp_path, session)
    for offset in range(60, 63):
        place = {"topic": f"'{STANDARD}'", "partition": 0, "offset": offset, "sha256": f"'{A}'"}
        message = {"id": f"'1-{offset}'", "stream": f"'x-{offset}'", "lane": "'standard'"}
        insert(session, RAW, message | place | {"arrival_ms": NOON_MS, "kafka_ms": NOON_MS})

    [hour] = landed_messages(session, tables, Flows(), [NOON_MS], noted(), NOON_MS + HOUR_MS)

    assert (hour.stream, hour.landed) == (NO_FLOW_STREAM, 3)
