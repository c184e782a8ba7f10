"""What of the raw archive lands again: what would have landed out of the topics."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog

from benchmarks.iceberg_tables import add_rows, folder_catalog
from clients.kafka.producer_record import ProducerRecord
from clients.s3.payload_bucket import PayloadBucket
from fleetlane.events.envelope import Record
from fleetlane.events.lake.tables import RAW
from local.demo.lake_tables import make_table
from operations.messages.parked import message_in
from operations.messages.stores import StoredPayloads
from operations.replay.archive import ArchivedPayloads, ArchivedRecords, archive_plan
from operations.replay.landing import ReplayPlan, TooManyMessagesError, replay
from operations.replay.plans import ArrivalRange, raw_plan
from tests.contract.aws_in_process import buckets
from tests.unit.operations.stored_messages import (
    ARRIVAL_MS,
    BODY,
    OTHER_ID,
    RAW_ID,
    FakeStore,
    by_reference,
    message_of,
)
from tests.unit.operations.test_replaying import FakeKafka

RANGE = ArrivalRange(stream="tank", from_ms=ARRIVAL_MS, to_ms=ARRIVAL_MS + 100)
LARGE = by_reference(OTHER_ID, "payloads/gone")
assert LARGE.reference is not None
KEPT = f"archive/{LARGE.reference.sha256}"


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[SqlCatalog]:
    with closing(folder_catalog(tmp_path)) as catalog:
        make_table(catalog, RAW)
        yield catalog


@pytest.fixture(scope="module")
def payloads() -> Iterator[ArchivedPayloads]:
    with buckets("landed", "parked", "lake") as s3:
        s3.put_object(Bucket="lake", Key=KEPT, Body=BODY)
        landed, parked = (PayloadBucket(s3, bucket) for bucket in ("landed", "parked"))
        stored = StoredPayloads(landed=lambda: landed, parked=lambda: parked)
        yield ArchivedPayloads(stored=stored, archived=PayloadBucket(s3, "lake"))


def archived(catalog: SqlCatalog, store: FakeStore, *, from_offset: int = 0) -> ArchivedRecords:
    """The archive of what a store has from an offset on."""
    rows = [row_of(record) for record in store.records if record.offset >= from_offset]
    add_rows(catalog, RAW, rows)
    return ArchivedRecords.of(catalog, RANGE)


def row_of(record: Record) -> dict[str, object]:
    message = message_in(record)
    assert message is not None
    is_repeated = message.attempt > 1
    return {
        "day": datetime.fromtimestamp(message.arrival_millis / 1000, UTC).date(),
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "kafka_ms": record.timestamp_ms,
        "headers": [{"key": name, "value": value} for name, value in record.headers],
        "sha256": "",
        "key": record.key,
        "value": None if is_repeated else record.value,
        "id": message.raw_id,
        "stream": message.stream,
        "attempt": message.attempt,
        "revision": message.revision,
        "arrival_ms": message.arrival_millis,
        "no_body": "repeated" if is_repeated else None,
    }


def landed(plan: ReplayPlan, store: FakeStore | ArchivedRecords) -> list[ProducerRecord]:
    kafka = FakeKafka()
    replay(plan, store, kafka)
    return sorted(kafka.landed, key=lambda one: one.headers)


def test_out_of_the_archive_lands_what_lands_out_of_the_topics(
    catalog: SqlCatalog, payloads: ArchivedPayloads
) -> None:
    store = FakeStore()
    store.land(message_of())
    store.land(message_of(OTHER_ID, body=b"other"), "raw.fast")
    store.land(message_of(OTHER_ID, body=b"other", attempt=2, revision=3), "raw.slow")
    store.land(message_of("1" + "ef" * 16, arrival_millis=RANGE.to_ms))
    store.land(message_of("1" + "01" * 16, stream="other"))
    records = archived(catalog, store)

    plan = archive_plan(records, payloads, messages_max=2)

    of_topics = raw_plan(store, payloads.stored, RANGE, messages_max=2)
    assert landed(plan, records) == landed(of_topics, store)
    assert (len(plan.attempts), plan.expired, plan.unreadable) == (2, (), 0)


def test_a_large_body_is_brought_back_to_where_jobs_read_it(
    catalog: SqlCatalog, payloads: ArchivedPayloads
) -> None:
    store = FakeStore()
    store.land(LARGE)
    records = archived(catalog, store)

    plan = archive_plan(records, payloads, messages_max=10)
    brought = payloads.brought_back(plan, payload_bucket="landed")

    (record,) = landed(brought, records)
    message = message_in(as_stored(record))
    assert message is not None
    assert (message.raw_id, message.attempt, message.revision) == (OTHER_ID, 2, 1)
    assert payloads.stored.body_of(message) == BODY


def test_messages_with_the_same_large_body_have_one_each_when_they_land_again(
    catalog: SqlCatalog, payloads: ArchivedPayloads
) -> None:
    store = FakeStore()
    store.land(LARGE)
    store.land(by_reference(RAW_ID, "payloads/gone-too"))

    plan = archive_plan(archived(catalog, store), payloads, messages_max=10)
    brought = payloads.brought_back(plan, payload_bucket="landed")

    references = [one.reference for one in brought.attempts.values()]
    assert len({one.key for one in references if one is not None}) == 2


def test_topics_that_were_made_again_have_positions_of_their_own(
    catalog: SqlCatalog, payloads: ArchivedPayloads
) -> None:
    before, after = FakeStore(), FakeStore()
    before.land(message_of())
    after.land(message_of(OTHER_ID, body=b"other"), at_ms=ARRIVAL_MS + 60_000)
    archived(catalog, before)
    records = archived(catalog, after)

    plan = archive_plan(records, payloads, messages_max=10)

    bodies = {record.value for record in landed(plan, records)}
    assert bodies == {b"\x01\x02", b"other"}


def test_a_message_whose_first_landing_is_not_archived_is_among_the_expired(
    catalog: SqlCatalog, payloads: ArchivedPayloads
) -> None:
    store = FakeStore()
    store.land(message_of())
    store.land(message_of(attempt=2))
    records = archived(catalog, store, from_offset=1)

    plan = archive_plan(records, payloads, messages_max=10)

    assert (plan.expired, dict(plan.attempts)) == ((RAW_ID,), {})


def test_what_was_replayed_and_is_not_archived_yet_has_its_revision_and_attempt(
    catalog: SqlCatalog, payloads: ArchivedPayloads
) -> None:
    store = FakeStore()
    store.land(message_of())
    records = archived(catalog, store)
    store.land(message_of(attempt=2, revision=1), "raw.bulk.replayed")
    store.land(message_of(attempt=3, revision=1), "raw.slow.over")
    store.land(message_of(OTHER_ID, attempt=7, revision=7), "raw.bulk.replayed")

    plan = archive_plan(records, payloads, messages_max=10, later=store)

    assert [(one.attempt, one.revision) for one in plan.attempts.values()] == [(4, 2)]


def test_more_messages_than_allowed_are_refused(
    catalog: SqlCatalog, payloads: ArchivedPayloads
) -> None:
    store = FakeStore()
    store.land(message_of())
    store.land(message_of(OTHER_ID))
    records = archived(catalog, store)

    with pytest.raises(TooManyMessagesError, match="the limit is 1"):
        archive_plan(records, payloads, messages_max=1)


def as_stored(record: ProducerRecord) -> Record:
    return Record(
        topic=record.topic,
        partition=0,
        offset=0,
        timestamp_ms=0,
        key=record.key,
        value=record.value,
        headers=tuple(record.headers),
    )
