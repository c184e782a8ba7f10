"""Records of the raw topics into the archive: once each, whole, and their large bodies beside."""

from collections.abc import Iterator, Sequence
from copy import replace
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from pyspark.sql import Row, SparkSession

from clients.aws import AwsSettings, s3_client
from clients.s3.lease import Lease
from clients.s3.payload_bucket import PayloadBucket
from fleetlane.events.envelope import Header, Message, PayloadReference, headers_of
from fleetlane.events.job_arguments import LakeTables
from fleetlane.events.lake.tables import RAW
from glue_jobs.engine.checkpoint_notes import DedupedStreams
from glue_jobs.engine.session import table_name, use_catalog
from glue_jobs.lake.archive import ArchivedBodies, delete_bodies, delete_old_days
from glue_jobs.lake.batches import LakeBatches
from glue_jobs.lake.main import ensure_table
from glue_jobs.lake.upkeep import LeaseGuard, compacted, erased, expired
from local.servers.localstack import LocalAws
from tests.lease_in_memory import LeaseInMemory
from tests.spark.lake_records import DAY_MS, NOON_MS, SCHEMA, Sent
from tests.spark.lakes import NO_CODE_TO_COMPILE, GivenFlows
from tests.unit.glue_jobs.memory_files import MemoryFiles

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

pytestmark = pytest.mark.spark

WAITING, ARCHIVED = "raw-archive-payloads", "raw-archive-lake"
LARGE = b"large" * 100
LARGE_DIGEST = sha256(LARGE).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRecord:
    """A record of a raw topic as Spark reads it."""

    message: Message | None
    offset: int
    topic: str = "raw.standard"
    value: bytes | None = None
    kafka_ms: int = NOON_MS + 7
    headers: Sequence[Header] | None = None

    def as_row(self) -> tuple[object, ...]:
        at = datetime.fromtimestamp(self.kafka_ms / 1000, UTC)
        headers, value = self.headers, self.value
        if self.message is not None:
            headers, value = headers_of(self.message), self.message.body
        return b"k", value, self.topic, 0, self.offset, at, headers


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    session: SparkSession
    s3: "S3Client"
    folder: Path
    erased_until_ms: dict[str, int] = field(default_factory=dict)

    @property
    def bodies(self) -> ArchivedBodies:
        waiting, archived = (PayloadBucket(self.s3, bucket) for bucket in (WAITING, ARCHIVED))
        return ArchivedBodies(waiting=waiting, archived=archived, archived_bucket=ARCHIVED)

    def write(self, checkpoint: str, number: int, *records: RawRecord) -> None:
        """A batch as the query gives it; each time by a process of its own."""
        lease = Lease(LeaseInMemory(), holder="a", lease_s=1e6)
        turns = LeaseGuard(
            lease, prepare=lambda: ensure_table(self.session, RAW), keep=lambda _: lambda: True
        )
        batches = LakeBatches(
            session=self.session,
            which=LakeTables.ARCHIVE,
            guard=turns,
            deduped=DedupedStreams(MemoryFiles()),
            erased_until_ms=lambda: self.erased_until_ms,
            flows=GivenFlows(),
            bodies=self.bodies,
        )
        self.session.sparkContext.setLocalProperty("sql.streaming.queryId", checkpoint)
        rows = [record.as_row() for record in records]
        batches.write(self.session.createDataFrame(rows, SCHEMA), number)

    def rows(self, *, device_id: str) -> Sequence[Row]:
        found = self.session.table(table_name(self.session, RAW)).where(
            f"device_id = '{device_id}'"
        )
        return found.orderBy("topic", "offset", "kafka_ms").collect()

    def put(self, key: str, body: bytes) -> PayloadReference:
        digest = sha256(body).hexdigest()
        return PayloadBucket(self.s3, WAITING).put(key, body, digest)

    def archived(self) -> set[str]:
        listed = self.s3.list_objects_v2(Bucket=ARCHIVED, Prefix="archive/")
        return {one["Key"] for one in listed.get("Contents", ())}


@pytest.fixture(scope="module")
def archive(
    spark: SparkSession, local_aws: LocalAws, tmp_path_factory: pytest.TempPathFactory
) -> Archive:
    folder: Path = tmp_path_factory.mktemp("archive")
    session = spark.newSession()
    for name, value in NO_CODE_TO_COMPILE.items():
        session.conf.set(name, value)
    use_catalog(session, warehouse=folder.as_uri(), uri=f"jdbc:sqlite:{folder}/catalog.db")
    for bucket in (WAITING, ARCHIVED):
        local_aws.ensure_bucket(bucket)
    return Archive(session=session, s3=s3_of(local_aws), folder=folder)


def s3_of(aws: LocalAws) -> "S3Client":
    return s3_client(AwsSettings(**aws.client_settings))


def large(number: int, reference: PayloadReference, **changes: str) -> Message:
    small = Sent(number=number, **changes).message  # type: ignore[arg-type]
    return replace(small, body=None, body_bytes=len(LARGE), reference=reference)


def test_a_record_is_kept_whole_under_the_day_its_message_arrived(archive: Archive) -> None:
    message = replace(Sent(number=1, device_id="d-whole").message, revision=2)
    record = RawRecord(message=message, offset=5, kafka_ms=NOON_MS + DAY_MS)

    archive.write("whole", 0, record)

    [row] = archive.rows(device_id="d-whole")
    assert (row.day, row.kafka_ms) == (date(2025, 11, 3), NOON_MS + DAY_MS)
    assert (row.topic, row.partition, row.offset, row.key) == ("raw.standard", 0, 5, b"k")
    assert [(one.key, one.value) for one in row.headers] == headers_of(message)
    assert (row.value, row.sha256) == (b"xyz", sha256(b"xyz").hexdigest())
    assert (row.id, row.stream, row.lane) == (message.raw_id, "gps", "standard")
    assert (row.attempt, row.revision, row.body_bytes) == (1, 2, 3)
    assert (row.reference, row.no_body) == (None, None)


def test_a_batch_that_comes_again_adds_nothing_even_to_a_new_checkpoint(archive: Archive) -> None:
    records = [
        RawRecord(message=Sent(number=one, device_id="d-again").message, offset=one)
        for one in (10, 11)
    ]
    later = RawRecord(message=Sent(number=12, device_id="d-again").message, offset=12)

    archive.write("again", 0, *records)
    archive.write("again", 0, *records)
    archive.write("lost", 0, *records, later)

    assert [row.offset for row in archive.rows(device_id="d-again")] == [10, 11, 12]


def test_a_topic_of_the_same_name_has_rows_of_its_own(archive: Archive) -> None:
    before = RawRecord(message=Sent(number=20, device_id="d-recreated").message, offset=20)
    after = replace(
        before, message=Sent(number=21, device_id="d-recreated").message, kafka_ms=NOON_MS + 60_000
    )

    archive.write("before", 0, before)
    archive.write("after", 0, after)

    ids = [row.id for row in archive.rows(device_id="d-recreated")]
    assert ids == [before.message.raw_id, after.message.raw_id]  # type: ignore[union-attr]


def test_what_is_no_message_is_kept_under_the_day_kafka_says(archive: Archive) -> None:
    headers = [("ce_id", b"\xff"), ("ce_arrivalmillis", b"9" * 18), ("other", None)]
    stranger = RawRecord(message=None, offset=30, value=b"what", headers=headers)
    bare = RawRecord(message=None, offset=31, topic="raw.slow.stream.gps")

    archive.write("strangers", 0, stranger, bare)

    found = (
        archive.session.table(table_name(archive.session, RAW))
        .where("offset in (30, 31)")
        .orderBy("offset")
    )
    first, second = found.collect()
    assert (first.day, first.value, first.id) == (date(2025, 11, 3), b"what", None)
    assert (second.headers, second.sha256) == ([], sha256(b"").hexdigest())


def test_another_attempt_is_a_row_without_the_body(archive: Archive) -> None:
    again = replace(Sent(number=40, device_id="d-tried").message, attempt=2)

    archive.write("tried", 0, RawRecord(message=again, offset=40, topic="raw.slow"))

    [row] = archive.rows(device_id="d-tried")
    assert (row.value, row.no_body, row.attempt) == (None, "repeated", 2)
    assert row.sha256 == sha256(b"xyz").hexdigest()


def test_a_large_body_is_kept_once_by_its_digest(archive: Archive) -> None:
    one, same = (archive.put(f"payloads/{name}", LARGE) for name in ("one", "same"))
    gone = PayloadReference(key="payloads/gone", sha256="0" * 64)
    references = (one, same, gone)
    records = [
        RawRecord(message=large(50 + at, reference, device_id="d-large"), offset=50 + at)
        for at, reference in enumerate(references)
    ]

    archive.write("large", 0, *records)

    rows = archive.rows(device_id="d-large")
    key = f"archive/{LARGE_DIGEST}"
    assert [row.reference for row in rows] == [key, key, None]
    assert [row.no_body for row in rows] == [None, None, "payload_missing"]
    assert [row.sha256 for row in rows] == [LARGE_DIGEST, LARGE_DIGEST, "0" * 64]
    assert archive.archived() == {key}


def test_files_lie_by_stream_and_position_and_so_they_do_once_compacted(archive: Archive) -> None:
    def batch(at: int) -> Iterator[RawRecord]:
        for number in range(3):
            sent = Sent(number=at - number, device_id="d-sorted", arrival_ms=NOON_MS + 5 * DAY_MS)
            yield RawRecord(message=sent.message, offset=at - number)

    for number in range(5):
        archive.write("sorted", number, *batch(100 + 10 * number))
    compacted(archive.session, RAW)

    folder = archive.folder / "fleetlane" / "raw" / "data" / "day=2025-11-08"
    files = sorted(folder.rglob("*.parquet"), key=lambda one: one.stat().st_mtime)
    assert len({one.parent for one in files}) == 1
    offsets = pq.read_table(files[-1], columns=["offset"])["offset"].to_pylist()
    assert (len(offsets), offsets) == (15, sorted(offsets))
    assert pq.ParquetFile(files[-1]).metadata.row_group(0).column(0).compression == "ZSTD"


def test_days_over_the_retention_are_deleted(archive: Archive) -> None:
    for at, days in enumerate((100, 99)):
        sent = Sent(number=60 + at, device_id="d-old", arrival_ms=NOON_MS - days * DAY_MS)
        archive.write(f"old-{days}", 0, RawRecord(message=sent.message, offset=60 + at))

    delete_old_days(archive.session, now_ms=NOON_MS, days_max=99)
    expired(archive.session, RAW, now_ms=NOON_MS)

    assert [row.offset for row in archive.rows(device_id="d-old")] == [61]


def test_an_erased_devices_bodies_go_but_for_those_of_others(archive: Archive) -> None:
    own, shared = archive.put("payloads/own", b"own" * 99), archive.put("payloads/s", b"all" * 99)
    for at, (device_id, reference) in enumerate(
        (("d-gone", own), ("d-gone", shared), ("d-stays", shared))
    ):
        message = replace(large(70 + at, reference, device_id=device_id), body_bytes=297)
        archive.write(f"erased-{at}", 0, RawRecord(message=message, offset=70 + at))

    delete_bodies(archive.session, archive.bodies, "d-gone")
    done = erased(archive.session, RAW, device_id="d-gone")

    assert done == "2 rows of d-gone deleted"
    assert (len(archive.rows(device_id="d-gone")), len(archive.rows(device_id="d-stays"))) == (0, 1)
    assert f"archive/{own.sha256}" not in archive.archived()
    assert f"archive/{shared.sha256}" in archive.archived()


def test_what_an_erased_device_sent_before_comes_back_neither_as_a_row_nor_a_body(
    archive: Archive,
) -> None:
    reference = archive.put("late", b"of d-late" * 9)
    before = RawRecord(message=large(80, reference, device_id="d-late"), offset=80)
    after = Sent(number=81, device_id="d-late", arrival_ms=NOON_MS + 1).message
    archive.erased_until_ms["d-late"] = NOON_MS

    archive.write("late", 0, before, RawRecord(message=after, offset=81))

    assert [row.offset for row in archive.rows(device_id="d-late")] == [81]
    assert f"archive/{reference.sha256}" not in archive.archived()
