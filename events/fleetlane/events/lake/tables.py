"""The lake's tables as plain data, read from ``tables.toml``."""

import tomllib
from dataclasses import dataclass, replace
from enum import StrEnum
from importlib.resources import files
from typing import Final

import msgspec

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
    row is kept of, within the days that a batch touches. Rows lie in files by ``sorted_by``, in
    groups of ``row_group_bytes``, or as large as Iceberg makes them.
    """

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    partitioned_by: tuple[str, ...] = ("day",)
    bucketed_by: str | None = None
    sorted_by: tuple[str, ...] = ()
    row_group_bytes: int | None = None

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


_WRITTEN: Final = tomllib.loads(
    files(__package__).joinpath("tables.toml").read_text(encoding="utf-8")
)


def _table(name: str) -> LakeTable:
    written = _WRITTEN[name]
    columns = [
        {"name": column, "type": kind, "is_required": group == "required"}
        for group in ("required", "optional")
        for column, kind in written.get(group, {}).items()
    ]
    return msgspec.convert({**written, "name": name, "columns": columns}, LakeTable)


EVENTS: Final = _table("events")
REPEATS: Final = replace(EVENTS, name="repeats", key=("stream", "id", "raw_id"))
"""Events that another message gave before: one takes its place once a revision replaces that."""

RECEIVED: Final = _table("received")
PARSED: Final = _table("parsed")
PARKED: Final = _table("parked")
DAILY: Final = _table("daily")
HOURLY: Final = _table("hourly")
OBJECTIVES: Final = _table("objectives")
LEDGER: Final = _table("ledger")
RAW: Final = _table("raw")
LATE_MESSAGE_AFTER_MS: Final = 60 * 60 * 1000


class NoBody(StrEnum):
    """Why a row of ``raw`` has no body."""

    REPEATED = "repeated"
    PAYLOAD_MISSING = "payload_missing"
    PAYLOAD_UNAVAILABLE = "payload_unavailable"


TABLES: Final = (EVENTS, REPEATS, RECEIVED, PARSED, PARKED, DAILY, HOURLY, OBJECTIVES, LEDGER, RAW)
