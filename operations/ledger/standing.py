"""The standing ledger as its job wrote it: the balance of each hour, and who is missing."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Final

from pyarrow import compute as pc
from pyiceberg.catalog import Catalog

from fleetlane.events.lake import tables
from fleetlane.events.times import HOUR_MS
from operations.fleet.fleet import day_of
from operations.fleet.questions import Table, cell, numbers
from operations.fleet.tables import day_since, planned_table
from operations.fleet.wording import moment_short

_OUTCOMES: Final = ("parsed", "empty", "parked")
_COUNTED: Final = (
    "accepted", "landed", *_OUTCOMES, "duplicate", "waiting", "missing", "not_landed"
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingMessage:
    """``sha256`` is ``None`` where the archive does not have the record."""

    id: str
    sha256: str | None
    stream: str
    lane: str
    hour_ms: int
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerHour:
    """A row of the table ``ledger``, whose columns say what its fields mean."""

    hour_ms: int
    stream: str
    lane: str
    accepted: int | None
    landed: int
    parsed: int
    empty: int
    parked: int
    duplicate: int
    waiting: int
    missing: int
    not_landed: int
    is_settled: bool
    checked_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingLedger:
    """The newest hours first; of each hour, stream and lane, the first missing messages."""

    hours: Sequence[LedgerHour]
    missing: Sequence[MissingMessage]

    def shown(self) -> tuple[Table, Table]:
        """The balance, and the missing messages, for people."""
        hours, missing = map(asdict, self.hours), map(asdict, self.missing)
        return _HOURS.of(list(hours)), _MISSING.of(list(missing))

    def line(self) -> str:
        """All hours together, in one line."""
        return " ".join(("standing ledger:", *(f"{name}={self._sum(name)}" for name in _COUNTED)))

    def covers(self, messages: int) -> bool:
        """Whether so many messages have an outcome, and none waits for one."""
        return sum(map(self._sum, _OUTCOMES)) >= messages and not self._sum("waiting")

    def _sum(self, name: str) -> int:
        return sum(getattr(one, name) or 0 for one in self.hours)


def standing_ledger(catalog: Catalog, *, since_ms: int) -> StandingLedger:
    """The ledger of the hours that end after a time; raises as ``planned_table``."""
    planned = planned_table(catalog, tables.LEDGER, where=day_since(day_of(since_ms)))
    is_since = pc.field("hour_ms") > since_ms - HOUR_MS
    rows = planned.to_table(filter=is_since).to_pylist()
    rows.sort(key=lambda row: (-row["hour_ms"], row["stream"], row["lane"]))
    names = [one.name for one in fields(LedgerHour)]
    return StandingLedger(
        hours=[LedgerHour(**{name: row[name] for name in names}) for row in rows],
        missing=[
            MissingMessage(stream=row["stream"], lane=row["lane"], hour_ms=row["hour_ms"], **one)
            for row in rows
            for one in row["missing_messages"]
        ],
    )


_HOURS: Final = Table(
    name="ledger",
    title="Ledger by hour of arrival",
    keys=[one.name for one in fields(LedgerHour)],
    columns={
        "hour (UTC)": cell("hour_ms", moment_short),
        "stream": cell("stream"),
        "lane": cell("lane"),
        **numbers(**{name: name.replace("_", " ") for name in _COUNTED}),
        "settled": lambda row: "yes" if row["is_settled"] else "no",
    },
    text_columns=3,
)
_MISSING: Final = Table(
    name="missing_messages",
    title="Missing messages",
    keys=[one.name for one in fields(MissingMessage)],
    columns={
        "id": cell("id"),
        "hour (UTC)": cell("hour_ms", moment_short),
        **{name: cell(name) for name in ("stream", "lane", "problem")},
    },
    text_columns=5,
)
