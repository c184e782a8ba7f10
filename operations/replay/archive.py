"""Messages of one stream out of the raw archive, whose topics may be gone, to land again."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import replace
from dataclasses import dataclass
from typing import Any, Final

from pyarrow import dataset as ds
from pyiceberg.catalog import Catalog
from pyiceberg.io.pyarrow import PyArrowFileIO, schema_to_pyarrow

from clients.s3.payload_bucket import PayloadBucket
from fleetlane.events.envelope import KafkaPosition, PayloadReference, Record
from fleetlane.events.lake.tables import RAW, NoBody
from fleetlane.events.s3_keys import ARCHIVED_BODIES, PAYLOADS, archived_key
from fleetlane.events.times import day_of
from operations.fleet.tables import planned_rows, table_of
from operations.messages.parked import message_in
from operations.messages.stores import RecordStore, StoredPayloads
from operations.replay.landing import NextAttempt, ReplayPlan, with_payloads
from operations.replay.plans import ArrivalRange, Seen

_PARQUET: Final = ds.ParquetFileFormat()
_AGAIN: Final = r"raw\.(bulk(\.over)?\.replayed|slow(\.over)?)"

_COPIES_AT_ONCE: Final = 16
_BATCH_ROWS: Final = 200
"""With bodies of 256 KiB, 50 MiB; what is read ahead comes on top."""

_COLUMNS: Final = [
    *("topic", "partition", "offset", "kafka_ms", "key", "value", "headers"),
    *("id", "attempt", "revision", "no_body"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedRecords:
    """The archive's records of one stream and range of arrival, in no order.

    Their ``topic`` has its time in Kafka behind it: a topic may have had its name before.
    """

    rows: ds.Dataset
    wanted: ArrivalRange

    @classmethod
    def of(cls, catalog: Catalog, wanted: ArrivalRange) -> "ArchivedRecords":
        """Plan which files may have them; raises as ``table_of`` and ``planned_rows``."""
        first, last = day_of(wanted.from_ms), day_of(wanted.to_ms)
        where = f"stream = '{wanted.stream}' and day >= '{first}' and day <= '{last}'"
        loaded = table_of(catalog, RAW)
        planned, io = planned_rows(loaded, RAW, where=where), loaded.io
        assert isinstance(io, PyArrowFileIO), "pyarrow is installed"
        fragments = [
            _PARQUET.make_fragment(path, filesystem=io.fs_by_scheme(scheme, netloc))
            for scheme, netloc, path in (io.parse_location(one) for one, _ in planned.files)
        ]
        schema = schema_to_pyarrow(loaded.schema(), include_field_ids=False)
        return cls(rows=ds.FileSystemDataset(fragments, schema, _PARQUET), wanted=wanted)

    def matching(self, pattern: str, *, since_ms: int | None = None) -> Iterator[Record]:
        """Give the records of first landings; a ``RecordStore``, but that there is one pattern."""
        del pattern, since_ms
        return (_record(row) for row in self.read() if _is_first(row))

    def read(self) -> Iterator[dict[str, Any]]:
        """Give all rows, of other attempts too, a few at a time."""
        arrival = ds.field("arrival_ms")
        is_in_range = (arrival >= self.wanted.from_ms) & (arrival < self.wanted.to_ms)
        is_of_stream = ds.field("id").is_valid() & (ds.field("stream") == self.wanted.stream)
        for batch in self.rows.to_batches(
            columns=_COLUMNS,
            filter=is_of_stream & is_in_range,
            batch_size=_BATCH_ROWS,
            batch_readahead=1,
            fragment_readahead=1,
        ):
            yield from batch.to_pylist()


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedPayloads:
    """Bodies by reference: where they were, or else in the archive."""

    stored: StoredPayloads
    archived: PayloadBucket

    def located(self, reference: PayloadReference) -> PayloadReference | None:
        """As ``StoredPayloads.located``; what only the archive has must be brought back first."""
        found = self.stored.located(reference)
        kept = replace(reference, key=archived_key(reference.sha256))
        return kept if found is None and self.archived.has(kept.key) else found

    def brought_back(self, plan: ReplayPlan, *, payload_bucket: str) -> ReplayPlan:
        """Copy what only the archive has to where jobs read it: its time to live begins anew.

        Raises ``PayloadMissingError`` where one is gone by now, or ``PayloadUnavailableError``.
        """

        def back(at: KafkaPosition, planned: NextAttempt) -> NextAttempt:
            reference = planned.reference
            if reference is None or not reference.key.startswith(ARCHIVED_BODIES):
                return planned
            key = f"{PAYLOADS}{reference.sha256}/{at}"
            self.archived.copy_to(payload_bucket, reference.key, key)
            return replace(planned, reference=replace(reference, key=key))

        with ThreadPoolExecutor(_COPIES_AT_ONCE, thread_name_prefix="archive") as threads:
            changed = threads.map(back, plan.attempts, plan.attempts.values())
            return replace(plan, attempts=dict(zip(plan.attempts, changed, strict=True)))


def archive_plan(
    records: ArchivedRecords,
    payloads: ArchivedPayloads,
    *,
    messages_max: int,
    later: RecordStore | None = None,
) -> ReplayPlan:
    """Read what is archived. Nothing is written. Attempts and revisions are those of ``raw_plan``.

    ``later`` has what was replayed, or failed, and is not archived yet. Each message lands once,
    with the body of its first landing; where that is not in the archive, or its payload is gone,
    the plan has it among the expired.
    """
    seen, unreadable = Seen(messages_max=messages_max), 0
    for row in records.read():
        raw_id, record = row["id"], _record(row)
        message = message_in(record) if _is_first(row) else None
        if _is_first(row) and message is None:
            unreadable += 1
            continue
        seen.add(raw_id, row["attempt"] or 1, row["revision"])
        if message is not None:
            seen.first.setdefault(raw_id, (record.position, message.reference))
    for record in () if later is None else later.matching(_AGAIN):
        again = message_in(record)
        if again is not None and again.raw_id in seen.attempts:
            seen.add(again.raw_id, again.attempt, again.revision)
    found, expired = with_payloads(seen.chosen(), payloads.located)
    return ReplayPlan(
        pattern=RAW.name,
        since_ms=None,
        attempts=found,
        expired=(*(one for one in seen.attempts if one not in seen.first), *expired),
        unreadable=unreadable,
    )


def _is_first(row: dict[str, Any]) -> bool:
    return bool(row["no_body"] != NoBody.REPEATED)


def _record(row: dict[str, Any]) -> Record:
    return Record(
        topic=f"{row['topic']}@{row['kafka_ms']}",
        partition=row["partition"],
        offset=row["offset"],
        timestamp_ms=row["kafka_ms"],
        key=row["key"],
        value=row["value"],
        headers=tuple((one["key"], one["value"]) for one in row["headers"]),
    )
