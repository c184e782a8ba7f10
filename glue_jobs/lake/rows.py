"""From records of the topics to rows of the lake's tables, in the JVM.

Each function needs the columns of ``raw_records``, and gives those of its table and
``day_clock_ms``: the clock of ours that ``day`` was read from, null where the day is the row's own
and comes out the same however often its record is repeated. What is no record of its topic is left
out; ``without_erased`` leaves out what came from an erased device, and comes again: by a replay,
from the spool, by an upload.
"""

from collections.abc import Mapping
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from fleetlane.events import headers as ce
from fleetlane.events.canonical import TimeQuality
from fleetlane.events.envelope import SOURCE_PREFIX
from fleetlane.events.errors import ParkedReason
from fleetlane.events.lake.tables import EVENTS, PARKED, PARSED, RECEIVED, LakeTable, NoBody
from fleetlane.events.times import DAY_MS, MILLIS_MAX, MILLIS_MIN, now_ms
from glue_jobs.kafka.source_and_sink import HEADERS_TYPE, fields_of

DAY_CLOCK: Final = "day_clock_ms"
WAITS_AT: Final = "waits_at"

_DAYS: Final = (MILLIS_MIN + DAY_MS, MILLIS_MAX - DAY_MS)
"""What has a day here, and days around it. Beyond, Spark's arithmetic and Python's dates fail."""

_ERASED: Final = "device_id string, until_ms bigint"
_ARRIVED: Final = ("arrival_ms", "received_ms", "kafka_ms", "parsed_ms")
"""What says when a message arrived, or else when its record came: the first that a table has."""

_SHA256: Final = "^[0-9a-f]{64}$"
_CANONICAL: Final = (
    "id string, source string, type string, rawid string, arrivalmillis string, parser string,"
    " revision int, timequality string, time string, data string"
)


def event_rows(records: DataFrame) -> DataFrame:
    """Canonical events; ``data`` as JSON text, ``lake_ms`` the time of their batch."""
    event = fields_of(records, F.from_json(F.col("value").cast("string"), _CANONICAL))
    arrival_ms = _with_a_day(F.expr("try_cast(arrivalmillis as bigint)"))
    event_ms = F.expr("unix_millis(try_cast(time as timestamp))")
    is_timed = (F.col("timequality") == TimeQuality.OK) & _with_a_day(event_ms).isNotNull()
    rows = event.select(
        F.col("type").alias("stream"),
        _day(F.when(is_timed, event_ms).otherwise(arrival_ms)).alias("day"),
        "id",
        F.col("rawid").alias("raw_id"),
        F.expr(f"substring(source, {len(SOURCE_PREFIX) + 1})").alias("device_id"),
        arrival_ms.alias("arrival_ms"),
        F.col("timequality").alias("time_quality"),
        "parser",
        "revision",
        "data",
        event_ms.alias("event_ms"),
        F.lit(now_ms()).alias("lake_ms"),
        F.when(~is_timed, arrival_ms).alias(DAY_CLOCK),
    )
    return _whole(rows, EVENTS)


def received_rows(records: DataFrame) -> DataFrame:
    rows = _metadata(records, RECEIVED).withColumn(DAY_CLOCK, F.col("received_ms"))
    return _whole(rows.withColumn("day", _day(F.col("received_ms"))), RECEIVED)


def parsed_rows(records: DataFrame) -> DataFrame:
    rows = _metadata(records, PARSED)
    clock = F.when(F.col("received_ms").isNull(), F.col("parsed_ms"))
    day = _day(F.coalesce("received_ms", "parsed_ms"))
    return _whole(rows.withColumn(DAY_CLOCK, clock).withColumn("day", day), PARSED)


def parked_rows(records: DataFrame) -> DataFrame:
    """What is parked, whole.

    What was no message is known by where it stood and by its bytes: a topic that is made anew has
    the same positions once more.
    """
    record = records.withColumn("header", F.map_from_entries("headers"))
    parked_ms = F.expr("unix_millis(try_cast(parked_at as timestamp))")
    is_message = (F.col("reason") != ParkedReason.BAD_ENVELOPE) & F.col("attempt").isNotNull()
    rows = (
        record.select(
            _header(ce.PARKED_REASON).alias("reason"),
            F.coalesce(_header(ce.PARKED_DETAIL), F.lit("")).alias("detail"),
            _header(ce.PARKED_FROM).alias("parked_from"),
            _header(ce.PARKED_AT).alias("parked_at"),
            _header(ce.PARKED_PARSER).alias("parser"),
            F.col("partition").alias("source_partition"),
            F.col("offset").alias("source_offset"),
            "headers",
            _header(ce.ID).alias("id"),
            _header(ce.ATTEMPT).try_cast("int").alias("attempt"),
            _device_id().alias("device_id"),
            _header(ce.TYPE).alias("stream"),
            F.col("value").alias("body"),
            _header(ce.DATA_REF).alias("reference"),
            _header(ce.BODY_BYTES).try_cast("bigint").alias("body_bytes"),
        )
        .withColumn("parked_ms", parked_ms)
        .withColumn("day", _day(F.col("parked_ms")))
        .withColumn(DAY_CLOCK, F.col("parked_ms"))
    )
    known = F.when(is_message, F.concat_ws("/", F.col("id"), F.col("attempt").cast("string")))
    stood = F.concat_ws("/", F.col("parked_from"), _digest_of_record())
    return _whole(rows.withColumn("key", F.coalesce(known, stood)), PARKED)


def _digest_of_record() -> Column:
    """Of a record's bytes and its own headers: what parking adds differs each time."""
    own = F.filter("headers", lambda one: ~one["key"].startswith(ce.PARKED_PREFIX))
    pairs = F.transform(own, lambda one: F.concat_ws("=", one["key"], F.hex(one["value"])))
    return F.sha2(F.concat_ws("|", F.hex("body"), F.concat_ws("|", pairs)), 256)


def raw_rows(records: DataFrame) -> DataFrame:
    """Every record, and ``waits_at``: where a body by reference is that is to be archived.

    Of another attempt at a message only the headers are kept: the body is in the row of the first
    landing, or in ``parked``. A record that is no message has its body.
    """
    record = records.withColumn("header", F.map_from_entries("headers"))
    attempt, arrival_ms = (
        _header(name).try_cast("bigint") for name in (ce.ATTEMPT, ce.ARRIVAL_MILLIS)
    )
    kafka_ms, digest, body = F.unix_millis("timestamp"), _header(ce.DATA_SHA256), F.col("value")
    is_repeated = F.coalesce(_header(ce.ID).isNotNull() & (attempt > 1), F.lit(False))  # noqa: FBT003
    by_reference = F.when(body.isNull() & digest.rlike(_SHA256), _header(ce.DATA_REF))
    arrived = _day(F.when(arrival_ms >= 0, arrival_ms))
    return record.select(
        F.coalesce(arrived, _day(kafka_ms)).alias("day"),
        *("topic", "partition", "offset", "key"),
        kafka_ms.alias("kafka_ms"),
        F.coalesce("headers", F.expr(f"cast(array() as {HEADERS_TYPE})")).alias("headers"),
        F.when(by_reference.isNotNull(), digest)
        .otherwise(F.sha2(F.coalesce(body, F.lit(b"")), 256))
        .alias("sha256"),
        F.when(~is_repeated, body).alias("value"),
        _header(ce.ID).alias("id"),
        _device_id().alias("device_id"),
        *(_header(name).alias(column) for column, name in (("stream", ce.TYPE), ("lane", ce.LANE))),
        attempt.try_cast("int").alias("attempt"),
        F.coalesce(_header(ce.REVISION).try_cast("int"), F.lit(0)).alias("revision"),
        arrival_ms.alias("arrival_ms"),
        F.coalesce(_header(ce.BODY_BYTES).try_cast("bigint"), F.length(body)).alias("body_bytes"),
        F.when(is_repeated, NoBody.REPEATED.value).alias("no_body"),
        F.when(~is_repeated, by_reference).alias(WAITS_AT),
    )


def without_erased(rows: DataFrame, table: LakeTable, until_ms: Mapping[str, int]) -> DataFrame:
    """Leave out rows of messages that arrived until their device was erased for good.

    Of a device that was registered again, what arrives after that counts as any other's.
    """
    if not until_ms:
        return rows
    notes = rows.sparkSession.createDataFrame(list(until_ms.items()), _ERASED)
    is_erased = (F.col("row.device_id") == F.col("erased.device_id")) & (
        F.col("row.arrived_ms") <= F.col("erased.until_ms")
    )
    came = rows.withColumn("arrived_ms", _arrived_ms(table)).alias("row")
    return came.join(F.broadcast(notes.alias("erased")), is_erased, "left_anti").drop("arrived_ms")


def _metadata(records: DataFrame, table: LakeTable) -> DataFrame:
    fields = [f"{one.name} {one.type}" for one in table.columns if one.name != "day"]
    return fields_of(records, F.from_json(F.col("value").cast("string"), ", ".join(fields)))


def _whole(rows: DataFrame, table: LakeTable) -> DataFrame:
    required = [column.name for column in table.columns if column.is_required]
    return rows.select(*table.column_names, DAY_CLOCK).dropna(subset=required)


def _arrived_ms(table: LakeTable) -> Column:
    if table == PARKED:
        header = F.map_from_entries("headers")[ce.ARRIVAL_MILLIS]
        return F.coalesce(header.cast("string").try_cast("bigint"), F.col("parked_ms"))
    return F.coalesce(*(name for name in _ARRIVED if name in table.column_names))


def _day(millis: Column) -> Column:
    return F.timestamp_millis(_with_a_day(millis)).cast("date")


def _with_a_day(millis: Column) -> Column:
    return F.when(millis.between(*_DAYS), millis)


def _device_id() -> Column:
    return F.regexp_extract(_header(ce.SOURCE), f"^{SOURCE_PREFIX}(.+)$", 1)


def _header(name: str) -> Column:
    """A header as text; null where it is none, or is not UTF-8."""
    return F.try_validate_utf8(F.expr(f"cast(header['{name}'] as string)"))
