"""What was committed to a table, read from its snapshots: each says which batch it is of.

And writing what was made of a snapshot: refused where another wrote since, and then made anew.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.lake.tables import LakeTable
from glue_jobs.engine.session import table_name

SNAPSHOTS_KEPT: Final = 100
"""So many are never expired, however old: the last batch's is always among them."""

_QUERY: Final = "fleetlane.query"
_BATCH: Final = "fleetlane.batch"

TRIES: Final = 5
_CONFLICTS: Final = (
    "org.apache.iceberg.exceptions.ValidationException",
    "org.apache.iceberg.exceptions.CommitFailedException",
)
"""Either says that nothing was committed. What it says of a ``CommitStateUnknownException`` is
no conflict: the commit may be there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A batch of a query. ``query`` is the checkpoint's own id: a new checkpoint counts anew."""

    query: str
    number: int

    @property
    def properties(self) -> dict[str, str]:
        """What its snapshots are marked with."""
        return {_QUERY: self.query, _BATCH: str(self.number)}


class TableLog:
    """The last commits of a table, ``name`` in SQL, newest first: read once, and after a commit."""

    def __init__(self, session: SparkSession, table: LakeTable) -> None:
        self._session, self.table = session, table
        self.name = table_name(session, table)
        self._known: Sequence[Row] | None = None

    def has(self, batch: Batch) -> bool:
        """Whether ``batch``, or a later one of its query, was committed."""
        return any(
            one.query == batch.query and one.number >= batch.number for one in self._snapshots()
        )

    def current_id(self) -> int | None:
        """The snapshot that the table is at; ``None`` while it is empty."""
        snapshots = self._snapshots()
        return int(snapshots[0].snapshot_id) if snapshots else None

    def read_again(self) -> None:
        self._known = None

    def is_right_after(self, batch: Batch, base_id: int | None) -> bool:
        """Whether ``batch``'s commit follows ``base_id`` directly, with no other between them."""
        self.read_again()
        wanted = (batch.query, batch.number, base_id)
        return any((one.query, one.number, one.parent_id) == wanted for one in self._snapshots())

    def _snapshots(self) -> Sequence[Row]:
        """``query`` and ``number`` are those of the batch; null where none made the commit."""
        if self._known is None:
            self._known = self._session.sql(
                f"SELECT snapshot_id, parent_id, summary['{_QUERY}'] AS query,"  # noqa: S608 - names of ours
                f" CAST(summary['{_BATCH}'] AS BIGINT) AS number FROM {self.name}"
                f".snapshots ORDER BY committed_at DESC LIMIT {SNAPSHOTS_KEPT}"
            ).collect()
        return self._known


class OvertakenError(FleetlaneError):
    """Another process writes a table without end. The batch or upkeep comes again."""

    table: str
    tries: int
    sentence = "{table} was changed by another writer in each of {tries} tries"


def until_unopposed[T](attempt: Callable[[], T], *, log: TableLog) -> T:
    """Attempt it until what it gives is true; a conflict with another's commit counts as false.

    ``log`` is read again before each further attempt; raises ``OvertakenError`` after the last.
    """
    for _ in range(TRIES):
        try:
            if done := attempt():
                return done
        except (Py4JJavaError, PySparkException) as problem:
            if not any(one in str(problem) for one in _CONFLICTS):
                raise
        log.read_again()
    raise OvertakenError(log.table.name, TRIES)
