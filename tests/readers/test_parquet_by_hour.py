"""A file for each hour of each share of the devices: by claims, from a real Iceberg table."""

import io
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from fleetlane.events.times import HOUR_MS
from readers.buckets import Bucket, ChangedBuckets
from readers.claims import ClaimLostError, Claims
from readers.parquet_by_hour import PARTS, work, write_bucket
from tests.contract.aws_in_process import buckets
from tests.readers.test_buckets import ARRIVAL_MS, HOUR, OVER_MS, a_row

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

TO: Final = "hours"
DEVICES: Final = [f"d-{number}" for number in range(20)]
NOW_MS: Final = OVER_MS + HOUR_MS


@pytest.fixture
def s3() -> Iterator["S3Client"]:
    with buckets(TO) as s3:
        yield s3


@pytest.fixture
def events(tmp_path: Path) -> Iterator[Table]:
    catalog = SqlCatalog("lake", uri="sqlite://", warehouse=tmp_path.as_uri())
    catalog.create_namespace("fleetlane")
    columns = {"stream": pa.string(), "day": pa.date32(), "id": pa.string()}
    columns |= {"device_id": pa.string(), "arrival_ms": pa.int64()}
    yield catalog.create_table("fleetlane.events", schema=pa.schema(columns))
    catalog.close()


def put_in(events: Table, *, arrival_ms: int = ARRIVAL_MS, stream: str = "gps") -> None:
    """An event of each device."""
    rows = [
        {"stream": stream, "day": date(2027, 1, 15), "id": f"{stream}-{one}-{arrival_ms}"}
        | {"device_id": one, "arrival_ms": arrival_ms}
        for one in DEVICES
    ]
    events.append(pa.Table.from_pylist(rows, schema=events.schema().as_arrow()))


def ids_in(s3: "S3Client") -> list[str]:
    listed = s3.list_objects_v2(Bucket=TO, Prefix="gps/").get("Contents", ())
    bodies = (s3.get_object(Bucket=TO, Key=one["Key"])["Body"].read() for one in listed)
    return sorted(
        id_ for body in bodies for id_ in parquet.read_table(io.BytesIO(body))["id"].to_pylist()
    )


def changed() -> ChangedBuckets:
    changed = ChangedBuckets(parts=PARTS)
    changed.fold(a_row(device_id=one) for one in DEVICES)
    return changed


def claims(s3: "S3Client", reader: str, clock_s: Callable[[], float] = lambda: 0.0) -> Claims:
    return Claims(s3, TO, prefix="claims/", reader=reader, clock_s=clock_s)


def test_every_event_of_an_hour_is_in_one_file_of_it(events: Table, s3: "S3Client") -> None:
    put_in(events)
    put_in(events, arrival_ms=OVER_MS)
    put_in(events, stream="other")

    written = work(
        changed(),
        claims(s3, "ours"),
        lambda bucket, check: write_bucket(bucket, check, events=events, s3=s3, to=TO),
        now_ms=NOW_MS,
    )

    expected = sorted(f"gps-{one}-{ARRIVAL_MS}" for one in DEVICES)
    assert (written, ids_in(s3)) == (PARTS, expected)


def test_two_readers_write_each_bucket_once_though_one_dies_in_the_middle(s3: "S3Client") -> None:
    now_s, written = 0.0, list[Bucket]()
    ours, theirs = (claims(s3, name, lambda: now_s) for name in ("ours", "theirs"))

    def die_at_the_second(bucket: Bucket, check: Callable[[], None]) -> None:
        if written:
            raise SystemExit  # as if killed: its claim below is never handed over
        written.append(bucket)

    def write(bucket: Bucket, check: Callable[[], None]) -> None:
        check()
        written.append(bucket)

    first, second = changed(), changed()
    dead = list(first.quiet(NOW_MS, quiet_ms=0))[1]
    with pytest.raises(SystemExit):
        work(first, ours, die_at_the_second, now_ms=NOW_MS)
    assert ours.claimed(dead, ARRIVAL_MS + 1_000) is not None
    work(second, theirs, write, now_ms=NOW_MS)
    before = dead in written
    now_s = theirs.lease_s
    work(second, theirs, write, now_ms=NOW_MS)

    assert (before, sorted(written)) == (
        False,
        [Bucket("gps", HOUR, part) for part in range(PARTS)],
    )


def test_who_lost_a_claim_writes_nothing(events: Table, s3: "S3Client") -> None:
    put_in(events)

    def lost() -> None:
        raise ClaimLostError("gps", "ours")

    with pytest.raises(ClaimLostError):
        write_bucket(Bucket("gps", HOUR, 0), lost, events=events, s3=s3, to=TO)

    assert ids_in(s3) == []
