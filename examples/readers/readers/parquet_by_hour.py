"""A Parquet file for each hour of each share of the devices, written once the hour is over.

    python -m readers.parquet_by_hour --kafka HOST:PORT --catalog fleetlane --stream gps --to BUCKET

Any number of these share the work by claims. Of an hour that a replay changes the file is written
anew. The catalog is PyIceberg's: https://py.iceberg.apache.org/configuration.
"""

import argparse
import io
import os
import socket
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

import boto3
import confluent_kafka
import msgspec
import pyarrow as pa
from pyarrow import compute, parquet
from pyiceberg.catalog import load_catalog
from pyiceberg.table import Table

from fleetlane.events.metadata import Parsed, parsed_from
from fleetlane.events.times import HOUR_MS, now_ms
from fleetlane.events.topics import FLEET_PARSED
from readers.buckets import Bucket, ChangedBuckets
from readers.claims import Claims

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

PARTS: Final = 4
_QUIET_MS: Final = 30 * 60_000
"""The lake has an event some minutes after Kafka."""
_ROWS_MAX: Final = 10_000


def work(
    changed: ChangedBuckets,
    claims: Claims,
    write: Callable[[Bucket, Callable[[], None]], None],
    *,
    now_ms: int,
) -> int:
    """Claim and write what is quiet and nobody else writes; returns how many buckets that were."""
    written = 0
    for bucket, changed_ms in changed.quiet(now_ms, quiet_ms=_QUIET_MS).items():
        claim = claims.claimed(bucket, changed_ms)
        if claim is not None:
            with claim:
                write(bucket, claim.check)
            written += 1
        if claim is not None or claims.is_done(bucket, changed_ms):
            changed.forget(bucket, changed_ms)
    return written


def write_bucket(
    bucket: Bucket, check: Callable[[], None], *, events: Table, s3: "S3Client", to: str
) -> None:
    """Write a bucket's events in place of the file that it has. ``check`` is the claim's."""
    begin_ms = bucket.hour * HOUR_MS
    within = f"arrival_ms >= {begin_ms} and arrival_ms < {begin_ms + HOUR_MS}"
    within += f" and stream == '{bucket.stream}'"  # its name has letters, digits and - alone
    rows = events.scan(row_filter=within).to_arrow()
    devices = compute.unique(rows["device_id"]).to_pylist()
    ours = [one for one in devices if _part_of(bucket, one) == bucket.part]
    file = io.BytesIO()
    parquet.write_table(rows.filter(compute.is_in(rows["device_id"], pa.array(ours))), file)
    check()  # by now another may have it, and have written more
    s3.put_object(Bucket=to, Key=f"{bucket}.parquet", Body=file.getvalue())


def _part_of(bucket: Bucket, device_id: str) -> int:
    return Bucket.of(bucket.stream, device_id, bucket.hour * HOUR_MS, parts=PARTS).part


def _rows(consumer: confluent_kafka.Consumer, stream: str) -> Iterator[Parsed]:
    for record in consumer.consume(_ROWS_MAX, 1.0):
        if record.error() is None:
            row = _row_in(record.value() or b"")
            if row is not None and row.stream == stream:
                yield row


def _row_in(value: bytes) -> Parsed | None:
    try:
        return parsed_from(value)
    except msgspec.DecodeError:
        return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kafka", required=True, metavar="HOST:PORT")
    parser.add_argument("--catalog", required=True)
    parser.add_argument("--namespace", default="fleetlane")
    parser.add_argument("--stream", required=True)
    parser.add_argument("--to", required=True, metavar="BUCKET")
    parser.add_argument("--lease-s", type=float, default=60.0)
    given = parser.parse_args()
    reader = f"{socket.gethostname()}-{os.getpid()}"
    s3 = boto3.client("s3")
    claims = Claims(s3, given.to, prefix="claims/", reader=reader, lease_s=given.lease_s)
    changed = ChangedBuckets(parts=PARTS)
    events = load_catalog(given.catalog).load_table(f"{given.namespace}.events")
    # Each reader reads all of it, from the beginning, and commits nothing.
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": given.kafka,
            "group.id": reader,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([FLEET_PARSED])

    def write(bucket: Bucket, check: Callable[[], None]) -> None:
        write_bucket(bucket, check, events=events.refresh(), s3=s3, to=given.to)

    while True:
        changed.fold(_rows(consumer, given.stream))
        work(changed, claims, write, now_ms=now_ms())


if __name__ == "__main__":
    main()
