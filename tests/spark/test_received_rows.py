"""Rows of fleet.received, made in the JVM from headers alone."""

from datetime import UTC, datetime
from hashlib import sha256

import pytest
from pyspark.sql import SparkSession

from fleetlane.events.envelope import Header, Message, PayloadReference, headers_of
from fleetlane.events.lanes import Lane
from fleetlane.events.metadata import Received, received_from
from glue_jobs.fleet_metadata.main import as_records, received_rows

pytestmark = pytest.mark.spark

SCHEMA = (
    "key binary, value binary, topic string, partition int, offset long, timestamp timestamp,"
    " headers array<struct<key: string, value: binary>>"
)
LANDED = datetime(2025, 11, 3, 14, 5, 9, 250_000, tzinfo=UTC)
MESSAGE = Message(
    raw_id="1" + "ab" * 16,
    device_id="d-17",
    stream="gps",
    arrival_millis=1_762_178_709_123,
    lane=Lane.FAST,
    body=b"xy",
    body_bytes=2,
    device_type="tracker",
    firmware="2.1",
    start_millis=-5,
    end_millis=7,
    via="gw-1",
)


def received(spark: SparkSession, headers: list[Header]) -> list[Received]:
    raw = [(b"k", b"xy", "raw.fast", 1, 42, LANDED, headers)]
    rows = as_records(received_rows(spark.createDataFrame(raw, SCHEMA))).collect()
    return [received_from(bytes(row.value)) for row in rows]


def test_a_message_is_reported_with_all_that_its_headers_say(spark: SparkSession) -> None:
    (row,) = received(spark, headers_of(MESSAGE))

    assert row == Received(
        id=MESSAGE.raw_id,
        device_id="d-17",
        stream="gps",
        lane=Lane.FAST,
        source_topic="raw.fast",
        source_partition=1,
        source_offset=42,
        received_ms=MESSAGE.arrival_millis,
        body_bytes=2,
        by_reference=False,
        device_type="tracker",
        firmware="2.1",
        via="gw-1",
        start_ms=-5,
        end_ms=7,
        landed_ms=1_762_178_709_250,
    )


def test_only_a_first_attempt_is_reported(spark: SparkSession) -> None:
    headers = [*headers_of(MESSAGE), ("ce_attempt", b"2")]

    assert received(spark, [header for header in headers if header != ("ce_attempt", b"1")]) == []


def test_a_reference_is_reported_by_the_size_of_what_it_refers_to(spark: SparkSession) -> None:
    reference = PayloadReference(key="payloads/x", sha256=sha256(b"").hexdigest())
    fields = {name: getattr(MESSAGE, name) for name in MESSAGE.__struct_fields__}
    message = Message(**fields | {"body": None, "body_bytes": 900_000, "reference": reference})

    (row,) = received(spark, headers_of(message))

    assert (row.by_reference, row.body_bytes) == (True, 900_000)


@pytest.mark.parametrize(
    "headers",
    [[], [("ce_id", b"1")], [("x", None), ("x", b"twice"), ("\u00fc", b"\xff")]],
    ids=["none", "too-few", "strange"],
)
def test_a_record_that_is_no_message_is_left_out_and_ends_nothing(
    spark: SparkSession, headers: list[Header]
) -> None:
    assert received(spark, headers) == []


@pytest.mark.parametrize("device_id", ["", "d" * 65, "d-\u00fc", "d\n"])
def test_a_message_of_what_is_no_device_s_id_is_left_out(
    spark: SparkSession, device_id: str
) -> None:
    others = [header for header in headers_of(MESSAGE) if header[0] != "ce_source"]

    assert received(spark, [*others, ("ce_source", f"/devices/{device_id}".encode())]) == []


def test_a_repeated_unknown_header_ends_nothing(spark: SparkSession) -> None:
    headers = [*headers_of(MESSAGE), ("x", b"1"), ("x", b"2")]

    assert len(received(spark, headers)) == 1
