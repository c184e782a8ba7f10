"""What is counted of whole days, written anew between the batches that touch them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from clients.flows.store import CurrentFlows, FlowsUnavailableError
from fleetlane.events.flows.flow import Flow
from fleetlane.events.lake import tables
from fleetlane.events.lake.objectives import objective_hours
from fleetlane.events.times import DAY_MS, EPOCH, HOUR_MS, day_of, now_ms
from glue_jobs.engine.session import table_name
from glue_jobs.lake.commits import TableLog
from glue_jobs.lake.merging import Check, write_days
from glue_jobs.lake.summaries import closed_hour_ms, daily_rows, hourly_rows

DAYS_AT_ONCE: Final = 3
"""An erasure or a long replay touches hundreds: batches go on between the turns for them."""


class DayCounts:
    """Writes ``daily`` and ``hourly`` of the days that batches touched. One call at a time.

    It reads whole days, which grow: a batch that waited for that would take longer and longer.
    ``has_failed`` says that the last call of ``write`` did.
    """

    def __init__(
        self, session: SparkSession, logs: Mapping[tables.LakeTable, TableLog], flows: CurrentFlows
    ) -> None:
        self._session, self._logs, self._flows = session, logs, flows
        self._by_device, self._by_hour = set[date](), set[date]()
        self._unjudged = set[date]()
        self._until_an_hour_is_over = set[date]()
        self._latest_ms = self._closed_ms = 0
        self.has_failed = False

    def add(self, days: Iterable[date]) -> None:
        touched = set(days)
        self._by_device |= touched
        self._until_an_hour_is_over |= touched

    def add_of_others(self) -> None:
        """Add the days written since they were counted, as an application that ended left them.

        And the last two: maybe not all of their hours were over.
        """
        received, parsed, daily, hourly = map(
            self._written_at, (tables.RECEIVED, tables.PARSED, tables.DAILY, tables.HOURLY)
        )
        for written in (received, parsed):
            for day, at in written.items():
                # An old day's hours say no more when they were written, its devices do.
                if day not in daily or min(daily[day], hourly.get(day, at)) < at:
                    self.add([day])
        self.add(sorted(received)[-2:])

    def write(self, check: Check) -> None:
        """Count some of what was added, newest first: by device, and by hour once another is over.

        An hour is over once a message came some minutes after it; a day waits for its last one.
        """
        if not (self._by_device or self._by_hour):
            return
        self.has_failed = True
        if days := sorted(self._by_device)[-DAYS_AT_ONCE:]:
            write_days(lambda: daily_rows(*self._of(days)), self._logs[tables.DAILY], check)
            received, _ = self._of(days[-1:])
            [(latest_ms,)] = received.agg(F.max("received_ms")).collect()
            self._latest_ms = max(self._latest_ms, min(latest_ms or 0, now_ms()))
            self._by_device -= {*days}
        closed_ms = closed_hour_ms(self._latest_ms)
        if closed_ms > self._closed_ms:  # not each time: it reads whole days once more
            waiting, self._closed_ms = self._until_an_hour_is_over, closed_ms
            self._by_hour |= waiting
            self._until_an_hour_is_over = {
                day for day in waiting if day >= day_of(closed_ms + HOUR_MS)
            }
        if hours_of := sorted(self._by_hour)[-DAYS_AT_ONCE:]:
            write_days(
                lambda: hourly_rows(*self._of(hours_of), closed_ms=closed_ms),
                self._logs[tables.HOURLY],
                check,
            )
            self._by_hour -= {*hours_of}
            self._unjudged |= {*hours_of}
        self.has_failed = False

    def judge(self, check: Check) -> None:
        """Write ``objectives`` of the days whose hours were counted since, some of them at once.

        As far as flows, and the lake's events, can be read.
        """
        days = sorted(self._unjudged)[-DAYS_AT_ONCE:]
        if not days:
            return
        flows: Sequence[Flow] = ()
        with suppress(FlowsUnavailableError):
            flows = self._flows.current().flows
        kept = [table_name(self._session, table) for table in (tables.EVENTS, tables.REPEATS)]
        are_there = all(map(self._session.catalog.tableExists, kept))
        if not (are_there and any(flow.objective for flow in flows)):
            self._unjudged.clear()
            return
        first_ms, last_ms = (DAY_MS * (day - EPOCH.date()).days for day in (days[0], days[-1]))
        arrived = f"arrival_ms between {first_ms} and {last_ms + DAY_MS}"
        events = " union all ".join(f"select * from {name} where {arrived}" for name in kept)  # noqa: S608 - ours

        def rows() -> DataFrame:
            for table, some in zip((tables.RECEIVED, tables.PARSED), self._of(days), strict=True):
                some.createOrReplaceTempView(table.name)
            names = {table.name: table.name for table in (tables.RECEIVED, tables.PARSED)}
            hours = self._session.sql(objective_hours(flows, **names, events=f"({events})"))
            return hours.where(F.col("hour_ms") <= self._closed_ms)

        write_days(rows, self._logs[tables.OBJECTIVES], check)
        self._unjudged -= {*days}

    def _of(self, days: Sequence[date]) -> Iterator[DataFrame]:
        """The rows of ``received`` and of ``parsed`` of some days."""
        for table in (tables.RECEIVED, tables.PARSED):
            yield self._session.table(self._logs[table].name).where(F.col("day").isin([*days]))

    def _written_at(self, table: tables.LakeTable) -> dict[date, datetime]:
        """When the days of a table were last written, but for those of long ago."""
        partitions = self._session.table(f"{self._logs[table].name}.partitions")
        rows = partitions.select("partition.day", "last_updated_at").dropna().collect()
        return {row.day: row.last_updated_at for row in rows}
