"""The standing ledger as its job wrote it: the balance of each hour, and who is missing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pyiceberg.catalog import Catalog

from fleetlane.events.lake import tables
from fleetlane.events.times import HOUR_MS, day_of
from operations.fleet.questions import Row, Table, table
from operations.fleet.tables import day_since, table_of

_OUTCOMES: Final = ("parsed", "empty", "parked")
_COUNTED: Final = (
    "accepted", "landed", *_OUTCOMES, "duplicate", "waiting", "missing", "not_landed"
)  # fmt: skip
_HOUR_KEYS: Final = ("hour_ms", "stream", "lane", *_COUNTED, "is_settled", "checked_ms")
_MISSING_KEYS: Final = ("id", "sha256", "stream", "lane", "hour_ms", "problem")


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingLedger:
    """The newest hours first; of each hour, stream and lane, the first missing messages.

    ``hours`` are rows of the table ``ledger``, which says what their values mean. The ``sha256`` of
    one that is ``missing`` is ``None`` where the archive does not have the record.
    """

    hours: Sequence[Row]
    missing: Sequence[Row]

    def shown(self) -> tuple[Table, Table]:
        """The balance, and the missing messages, for people."""
        return _HOURS.of(self.hours), _MISSING.of(self.missing)

    def line(self) -> str:
        return " ".join(("standing ledger:", *(f"{name}={self._sum(name)}" for name in _COUNTED)))

    def covers(self, messages: int) -> bool:
        """Whether so many messages have an outcome, and none waits for one."""
        return sum(map(self._sum, _OUTCOMES)) >= messages and not self._sum("waiting")

    def _sum(self, name: str) -> int:
        return sum(one[name] or 0 for one in self.hours)


def standing_ledger(catalog: Catalog, *, since_ms: int) -> StandingLedger:
    """The ledger of the hours that end after a time; raises as ``table_of``."""
    where = f"{day_since(day_of(since_ms))} and hour_ms > {since_ms - HOUR_MS}"
    rows = table_of(catalog, tables.LEDGER).scan(row_filter=where).to_arrow().to_pylist()
    rows.sort(key=lambda row: (-row["hour_ms"], row["stream"], row["lane"]))
    hours = [{key: row[key] for key in _HOUR_KEYS} for row in rows]
    missing = [{**row, **one} for row in rows for one in row["missing_messages"]]
    named = [{key: one[key] for key in _MISSING_KEYS} for one in missing]
    return StandingLedger(hours=hours, missing=named)


_HOURS: Final = table("ledger", keys=_HOUR_KEYS)
_MISSING: Final = table("missing_messages", keys=_MISSING_KEYS)
