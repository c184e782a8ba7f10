"""Writing what was made of a snapshot: refused where another wrote since, and then made anew."""

from collections.abc import Callable
from typing import Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrameWriterV2

from fleetlane.events.errors import FleetlaneError
from glue_jobs.lake.commits import TableLog

TRIES: Final = 5
_CONFLICTS: Final = (
    "org.apache.iceberg.exceptions.ValidationException",
    "org.apache.iceberg.exceptions.CommitFailedException",
)
"""Either says that nothing was committed. What it says of a ``CommitStateUnknownException`` is
no conflict: the commit may be there."""


class OvertakenError(FleetlaneError):
    """Another process writes a table without end. The batch or upkeep comes again."""

    reason = "overtaken"
    table: str
    tries: int
    sentence = "{table} was written by another each of {tries} times"


def validated(writer: DataFrameWriterV2, base_id: int | None) -> DataFrameWriterV2:
    """Have ``overwritePartitions`` refused if its partitions changed after snapshot ``base_id``.

    ``None`` is the table before its first.
    """
    writer = writer.option("isolation-level", "serializable")
    if base_id is None:
        return writer
    return writer.option("validate-from-snapshot-id", str(base_id))


def until_unopposed(attempt: Callable[[], bool], *, log: TableLog) -> None:
    """Attempt it until it returns true; a conflict with another's commit counts as false.

    ``log`` is read again before each further attempt.

    Raises:
        OvertakenError: It came to nothing, however often.
    """
    for _ in range(TRIES):
        try:
            if attempt():
                return
        except (Py4JJavaError, PySparkException) as problem:
            if not is_conflict(problem):
                raise
        log.read_again()
    raise OvertakenError(log.table.name, TRIES)


def is_conflict(problem: Exception) -> bool:
    """Whether a commit was refused because of another's."""
    text = str(problem)
    return any(one in text for one in _CONFLICTS)
