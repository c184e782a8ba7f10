"""What is counted of whole days, written anew between the batches that touch them."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from fleetlane.events.lake.tables import DAILY, HOURLY, PARSED, RECEIVED, LakeTable
from fleetlane.events.times import HOUR_MS, day_of
from glue_jobs.lake.commits import TableLog
from glue_jobs.lake.merging import Check, write_days
from glue_jobs.lake.summaries import closed_hour_ms, daily_rows, hourly_rows


class DayCounts:
    """Writes ``daily`` and ``hourly`` of the days that batches touched. One call at a time.

    It reads whole days, which grow: a batch that waited for that would take longer and longer.
    ``has_failed`` says that the last call of ``write`` did.
    """

    def __init__(self, session: SparkSession, logs: Mapping[LakeTable, TableLog]) -> None:
        self._session, self._logs = session, logs
        self._uncounted, self._unclosed = set[date](), set[date]()
        self.has_failed = False

    def add(self, days: Iterable[date]) -> None:
        self._uncounted.update(days)

    def add_of_others(self) -> None:
        """Add the days written since they were counted, as an application that ended left them.

        And the last one: maybe not all of its hours were over.
        """
        received, parsed, counted = map(self._written_at, (RECEIVED, PARSED, DAILY))
        for written in (received, parsed):
            self.add(day for day, at in written.items() if day not in counted or counted[day] < at)
        self.add(sorted(received)[-1:])

    def write(self, check: Check) -> None:
        """Count what was added. The days whose last hours are not over are counted next time, too.

        An hour is over once a message came some minutes after it.
        """
        if not self._uncounted:
            return
        self.has_failed = True
        days = sorted(self._uncounted | self._unclosed)
        received, _ = self._where(F.col("day") >= days[-1])
        [(latest_ms,)] = received.agg(F.max("received_ms")).collect()
        closed_ms = closed_hour_ms(latest_ms or 0)
        in_days = F.col("day").isin(days)
        write_days(lambda: daily_rows(*self._where(in_days)), self._logs[DAILY], check)
        write_days(
            lambda: hourly_rows(*self._where(in_days), closed_ms=closed_ms),
            self._logs[HOURLY],
            check,
        )
        self._uncounted.clear()
        self._unclosed = {day for day in days if day >= day_of(closed_ms + HOUR_MS)}
        self.has_failed = False

    def _where(self, condition: Column) -> Iterator[DataFrame]:
        """The rows of ``received`` and of ``parsed`` for which a condition holds."""
        for table in (RECEIVED, PARSED):
            yield self._session.table(self._logs[table].name).where(condition)

    def _written_at(self, table: LakeTable) -> dict[date, datetime]:
        """When the days of a table were last written, but for those of long ago."""
        partitions = self._session.table(f"{self._logs[table].name}.partitions")
        rows = partitions.select("partition.day", "last_updated_at").dropna().collect()
        return {row.day: row.last_updated_at for row in rows}
