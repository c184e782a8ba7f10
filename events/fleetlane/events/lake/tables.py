"""The lake's tables as plain data: what the lake job writes, and what queries read."""

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from fleetlane.events.names import LAKE_DATABASE

CATALOG: Final = "lake"
NAMESPACE: Final = LAKE_DATABASE
BUCKETS: Final = 16
MADE_UP: Final = "made-up"
"""``source_topic`` of rows of ``received`` and ``parsed`` that no message is behind: a
demonstration's past. They count in answers about the fleet, and in no ledger and no hour, so in
nothing that is usual and in no alarm. The platform writes this column: no device can claim it.
"""

PROPERTIES: Final = MappingProxyType(
    {
        "format-version": "2",
        "write.metadata.delete-after-commit.enabled": "true",
        "write.metadata.previous-versions-max": "20",
        "write.parquet.compression-codec": "zstd",
    }
)
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
        "event_ms bigint",
    ),
    key=("stream", "id"),
    partitioned_by=("stream", "day"),
)
"""Canonical events. ``day`` is event time's where ``time_quality`` is ``ok``, else arrival's.

``event_ms`` is what the device declared, whatever its quality, and null where it declared none.
``data`` is the parser's mapping as JSON.
"""

REPEATS: Final = LakeTable(
    name="repeats",
    columns=EVENTS.columns,
    key=("stream", "id", "raw_id"),
    partitioned_by=EVENTS.partitioned_by,
)
"""Events that another message gave before, by ids of fields or content: no row of ``events`` says
whose they are too. One takes the first one's place once a revision replaces that.
"""

RECEIVED: Final = LakeTable(
    name="received",
    columns=_columns(
        "day date, id string, device_id string, stream string, lane string, source_topic string, "
        "source_partition int, source_offset bigint, received_ms bigint, body_bytes bigint, "
        "by_reference boolean",
        "device_type string, firmware string, via string, start_ms bigint, end_ms bigint",
    ),
    key=("id",),
)
"""``fleet.received``: a message's first attempt, once. ``day`` is that of ``received_ms``."""

PARSED: Final = LakeTable(
    name="parsed",
    columns=_columns(
        "day date, id string, attempt int, device_id string, stream string, lane string, "
        "source_topic string, source_partition int, source_offset bigint, outcome string, "
        "parsed_ms bigint, events bigint, parse_us bigint, inflated_bytes bigint",
        "received_ms bigint, revision int, reason string, put_off string, parser string, "
        "instead_of string, first_event_ms bigint, last_event_ms bigint",
    ),
    key=("id", "attempt", "outcome"),
)
"""``fleet.parsed``: every attempt. ``day`` is its message's arrival day, as in ``received``.

So a day's messages and what became of them are under one day, whenever they were parsed. Of a
message's rows the one that counts is parsed > empty > parked > diverted, then the last attempt.
"""

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
"""What could not be parsed, with its bytes, or where they are. ``day`` is that of ``parked_ms``.

``key`` is raw id and attempt; if it is no message of ours, its position in Kafka and a digest.
"""

DAILY: Final = LakeTable(
    name="daily",
    columns=_columns(
        "day date, device_id string, stream string, messages bigint, body_bytes bigint, "
        "body_bytes_max bigint, by_reference bigint, first_received_ms bigint, "
        "last_received_ms bigint, lag_messages bigint, lag_ms_sum bigint, lag_ms_max bigint, "
        "late_messages bigint, parsed bigint, empty bigint, parked bigint, malformed bigint, "
        "events bigint, parse_us_sum bigint, parse_us_max bigint, parsed_body_bytes bigint, "
        "inflated_bytes bigint",
        "device_type string, firmware string, via string, heard_ms bigint, gateway_ms bigint",
    ),
    key=("device_id", "stream", "day"),
)
"""One row a device, stream and arrival day, derived from ``received`` and ``parsed``.

``device_type``, ``firmware`` and ``via`` are the latest message's. ``heard_ms`` is when the device
last sent something itself, ``gateway_ms`` when a gateway last did for it; rows that are older than
these columns have neither. A lag is arrival minus ``end_ms``, of messages that declare it
(``lag_messages``), 0 where a clock runs ahead, and at most 400 days; late is over
``LATE_MESSAGE_AFTER_MS``.
``parsed``, ``empty`` and ``parked`` count messages by their final outcome; the rest of ``messages``
has none yet. ``malformed`` are those parked with that reason. ``events`` and ``parse_us`` are of
the attempt that counts; ``inflated_bytes`` came of ``parsed_body_bytes``.
"""

HOURLY: Final = LakeTable(
    name="hourly",
    columns=_columns(
        "day date, hour_ms bigint, stream string, devices bigint, through_gateway bigint, "
        "messages bigint, parsed bigint, empty bigint, parked bigint"
    ),
    key=("stream", "hour_ms"),
)
"""One row a stream and hour of arrival that is over, derived from ``received`` and ``parsed``.

``devices`` sent something themselves in that hour; ``through_gateway`` did not, but a gateway did
for them. Messages count by their outcome as in ``daily``.
"""

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
"""The standing ledger: a row a stream, lane and hour of arrival, written anew until it is settled.

``accepted`` is what ingest counted at its answers, null where that cannot be read. By id and
digest it is ``parsed + empty + parked + duplicate + waiting + missing + not_landed``. ``landed``
counts raw records of first attempts: what was accepted and has not landed yet is ``waiting``, or,
where it is not in the spool either, ``not_landed``. ``missing_messages`` names the first of the
missing ones.
"""

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
"""The raw archive: every record of the raw topics. ``day`` is its message's arrival day.

A record that is no message has no ``id``, and the day of its Kafka timestamp, ``kafka_ms``, which
also tells a topic from one that had its name before. ``sha256`` is the body's, in hex. The body is
``value`` or, where it came by reference, the object ``reference`` of the lake's bucket; where there
is neither, ``no_body`` says why: see ``NoBody``.
"""


class NoBody(StrEnum):
    """Why a row of ``raw`` has no body."""

    REPEATED = "repeated"
    """Another attempt at a message: the row of its first landing has the body."""
    PAYLOAD_MISSING = "payload_missing"
    """It was by reference, and its object was gone already."""
    PAYLOAD_UNAVAILABLE = "payload_unavailable"
    """It was by reference, and S3 did not give this one object."""


TABLES: Final = (EVENTS, REPEATS, RECEIVED, PARSED, PARKED, DAILY, HOURLY, LEDGER, RAW)
