"""The lake's tables as plain data; docs/lake.md says what their columns hold."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from fleetlane.events.names import LAKE_DATABASE

CATALOG: Final = "lake"
NAMESPACE: Final = LAKE_DATABASE
BUCKETS: Final = 16
MADE_UP: Final = "made-up"
"""``source_topic`` of rows of ``received`` and ``parsed`` that no message is behind: a
demonstration's past. They count in answers about the fleet, and in no ledger and no hour, so in
nothing that is usual and in no alarm. The platform writes this column: no device can claim it."""

PROPERTIES: Final = {
    "format-version": "2",
    # Whoever plans a read opens each manifest, and at 100, Iceberg's own, that was an eighth of
    # the CPU of a laptop's lake: a batch plans many, and each commit adds a manifest.
    "commit.manifest.min-count-to-merge": "10",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
    "write.parquet.compression-codec": "zstd",
}
"""What all tables have, in Iceberg's words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column; ``type`` is as Spark's SQL and Iceberg's write it."""

    name: str
    type: str
    is_required: bool = False

    def __str__(self) -> str:
        return f"{self.name} {self.type}{' NOT NULL' if self.is_required else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeTable:
    """An Iceberg table of format version 2, partitioned by the values of ``partitioned_by``.

    And, behind them, by a hash of the column ``bucketed_by`` into ``BUCKETS``. ``key`` is what one
    row is kept of, within the days that a batch touches. Rows lie in files by ``sorted_by``.
    """

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    partitioned_by: tuple[str, ...] = ("day",)
    bucketed_by: str | None = None
    sorted_by: tuple[str, ...] = ()

    @property
    def identifier(self) -> str:
        """Its name inside a laptop's catalog."""
        return f"{NAMESPACE}.{self.name}"

    @property
    def column_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def partitions(self) -> tuple[str, ...]:
        """What it is partitioned by, as SQL wants it."""
        buckets = () if self.bucketed_by is None else (f"bucket({BUCKETS}, {self.bucketed_by})",)
        return (*self.partitioned_by, *buckets)


def _columns(required: str, optional: str = "") -> tuple[Column, ...]:
    """Columns by ``name type, …``."""
    return tuple(
        Column(name=name, type=kind, is_required=is_required)
        for text, is_required in ((required, True), (optional, False))
        for name, kind in (one.strip().split(" ", 1) for one in text.split(", ") if one)
    )


EVENTS: Final = LakeTable(
    name="events",
    columns=_columns(
        "stream string, day date, id string, raw_id string, device_id string, arrival_ms bigint, "
        "time_quality string, parser string, revision int, data string",
        "event_ms bigint, lake_ms bigint",
    ),
    key=("stream", "id"),
    partitioned_by=("stream", "day"),
)

REPEATS: Final = replace(EVENTS, name="repeats", key=("stream", "id", "raw_id"))
"""Events that another message gave before: one takes its place once a revision replaces that."""

RECEIVED: Final = LakeTable(
    name="received",
    columns=_columns(
        "day date, id string, device_id string, stream string, lane string, source_topic string, "
        "source_partition int, source_offset bigint, received_ms bigint, body_bytes bigint, "
        "by_reference boolean",
        "device_type string, firmware string, via string, start_ms bigint, end_ms bigint, "
        "landed_ms bigint",
    ),
    key=("id",),
)

PARSED: Final = LakeTable(
    name="parsed",
    columns=_columns(
        "day date, id string, attempt int, device_id string, stream string, lane string, "
        "source_topic string, source_partition int, source_offset bigint, outcome string, "
        "parsed_ms bigint, events bigint, parse_us bigint, inflated_bytes bigint",
        "received_ms bigint, revision int, reason string, put_off string, parser string, "
        "instead_of string, first_event_ms bigint, last_event_ms bigint, output_bytes bigint",
    ),
    key=("id", "attempt", "outcome"),
)

PARKED: Final = LakeTable(
    name="parked",
    columns=_columns(
        "day date, key string, reason string, detail string, parked_from string, parked_ms bigint, "
        "source_partition int, source_offset bigint, "
        "headers array<struct<key:string,value:binary>>",
        "id string, attempt int, device_id string, stream string, parser string, body binary, "
        "reference string, body_bytes bigint",
    ),
    key=("key",),
)

DAILY: Final = LakeTable(
    name="daily",
    columns=_columns(
        "day date, device_id string, stream string, messages bigint, body_bytes bigint, "
        "body_bytes_max bigint, by_reference bigint, first_received_ms bigint, "
        "last_received_ms bigint, lag_messages bigint, lag_ms_sum bigint, lag_ms_max bigint, "
        "late_messages bigint, parsed bigint, empty bigint, parked bigint, malformed bigint, "
        "events bigint, parse_us_sum bigint, parse_us_max bigint, parsed_body_bytes bigint, "
        "inflated_bytes bigint",
        "device_type string, firmware string, via string, heard_ms bigint, gateway_ms bigint, "
        "output_bytes bigint",
    ),
    key=("device_id", "stream", "day"),
)

HOURLY: Final = LakeTable(
    name="hourly",
    columns=_columns(
        "day date, hour_ms bigint, stream string, devices bigint, through_gateway bigint, "
        "messages bigint, parsed bigint, empty bigint, parked bigint"
    ),
    key=("stream", "hour_ms"),
)

HOPS: Final = ("door", "kafka", "parser", "lake")
"""Where a message's time goes: until Kafka has it, until its parser begins, in the parser, and
from its events' canonical topic into the lake."""

OBJECTIVES: Final = LakeTable(
    name="objectives",
    columns=_columns(
        "day date, hour_ms bigint, stream string, objective string, limit_ms bigint, "
        "messages bigint, late bigint, " + ", ".join(f"late_by_{hop} bigint" for hop in HOPS)
    ),
    key=("stream", "hour_ms", "objective"),
)

LEDGER: Final = LakeTable(
    name="ledger",
    columns=_columns(
        "day date, hour_ms bigint, stream string, lane string, landed bigint, parsed bigint, "
        "empty bigint, parked bigint, duplicate bigint, waiting bigint, missing bigint, "
        "not_landed bigint, is_settled boolean, checked_ms bigint, "
        "missing_messages array<struct<id:string,sha256:string,problem:string>>",
        "accepted bigint",
    ),
    key=("stream", "lane", "hour_ms"),
    partitioned_by=("day", "hour_ms"),
)

LATE_MESSAGE_AFTER_MS: Final = 60 * 60 * 1000

RAW: Final = LakeTable(
    name="raw",
    columns=_columns(
        "day date, topic string, partition int, offset bigint, kafka_ms bigint, "
        "headers array<struct<key:string,value:binary>>, sha256 string",
        "key binary, value binary, id string, device_id string, stream string, lane string, "
        "attempt int, revision int, arrival_ms bigint, body_bytes bigint, reference string, "
        "no_body string",
    ),
    key=("topic", "partition", "offset", "kafka_ms"),
    bucketed_by="stream",
    sorted_by=("stream", "topic", "partition", "offset"),
)


class NoBody(StrEnum):
    """Why a row of ``raw`` has no body."""

    REPEATED = "repeated"
    PAYLOAD_MISSING = "payload_missing"
    PAYLOAD_UNAVAILABLE = "payload_unavailable"


TABLES: Final = (EVENTS, REPEATS, RECEIVED, PARSED, PARKED, DAILY, HOURLY, OBJECTIVES, LEDGER, RAW)
