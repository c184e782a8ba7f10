"""Each flow's last hour: alerts when few devices report, much is parked, or much is late."""

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, Protocol

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from clients.flows.store import CurrentFlows
from fleetlane.events import canary
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.lake.tables import HOURLY, OBJECTIVES, LakeTable
from fleetlane.events.metadata import Alert, AlertKind
from fleetlane.events.metrics import JobMetric
from fleetlane.events.times import DAY_MS, HOUR_MS, day_of
from glue_jobs.engine.session import table_name
from glue_jobs.fleet_watch.flow_hours import WEEK_MS, WEEKS, FlowHour, unusual
from glue_jobs.fleet_watch.objectives import LONGEST_HOURS, ObjectiveHour, burning

POLL_INTERVAL_S: Final = 300
SILENT_MS: Final = 2 * HOUR_MS
"""After so long, an hour that is not in the lake counts as one without messages."""

_log = logging.getLogger(__name__)


class Hours(Protocol):
    """The lake's hours; ``LakeHours`` reads them."""

    def latest_ms(self) -> int | None: ...
    def since(self, since_ms: int, streams: Collection[str]) -> Sequence[FlowHour]: ...
    def objectives_since(self, since_ms: int) -> Sequence[ObjectiveHour]: ...


@dataclass(slots=True)
class FlowWatch:
    """Judges each hour once, and publishes what it found until the next.

    ``send`` returns once alerts are durable. A restart sends the last hour's again, with equal ids.
    """

    hours: Hours
    flows: CurrentFlows
    send: Callable[[Sequence[Alert]], None]
    publish: Callable[[Mapping[str, float]], None]
    now_ms: Callable[[], int]
    _judged_ms: int | None = field(default=None, init=False)
    _values: Mapping[str, float] = field(default_factory=dict, init=False)

    def judge_hours(self) -> None:
        """Judge the hours that are over since the last that was judged; publish what was found.

        After a start that is the last hour; after an outage a day's hours at most.

        Raises ``FleetlaneError`` where flows, or the lake's hours, cannot be read now.
        """
        at_ms = self._last_hour_ms()
        if at_ms is not None:
            next_ms = at_ms if self._judged_ms is None else self._judged_ms + HOUR_MS
            for hour_ms in range(max(next_ms, at_ms - DAY_MS), at_ms + 1, HOUR_MS):
                self._judge(hour_ms)
                self._judged_ms = hour_ms
        if self._values:
            self.publish(self._values)

    def _last_hour_ms(self) -> int | None:
        latest_ms = self.hours.latest_ms()
        if latest_ms is None:
            return None
        now_ms = self.now_ms()
        silent_ms, over_ms = now_ms - SILENT_MS, now_ms - now_ms % HOUR_MS - HOUR_MS
        # A clock that was ahead has counted hours that are not over.
        return max(min(latest_ms, over_ms), silent_ms - silent_ms % HOUR_MS - HOUR_MS)

    def _judge(self, hour_ms: int) -> None:
        flows = self.flows.current().by_stream
        hours = self.hours.since(hour_ms - WEEKS * WEEK_MS, flows.keys())
        teams = {name: flow for name, flow in flows.items() if name not in canary.STREAMS}
        now_ms = self.now_ms()
        found = [*unusual(hours, hour_ms=hour_ms, flows=teams, now_ms=now_ms)]
        of_objectives = self.hours.objectives_since(hour_ms - LONGEST_HOURS * HOUR_MS)
        fast = [*burning(of_objectives, hour_ms=hour_ms, flows=flows, now_ms=now_ms)]
        if found or fast:
            _log.warning("%d alerts about flows in the last hour", len(found) + len(fast))
            self.send([*found, *fast])
        low = sum(one.kind is AlertKind.LOW_COVERAGE for one in found)
        self._values = {
            JobMetric.LOW_COVERAGE_FLOWS: low,
            JobMetric.MUCH_PARKED_FLOWS: len(found) - low,
            JobMetric.BURNING_FLOWS: len({one.stream for one in fast}),
        }


class LakeUnreadableError(FleetlaneError):
    """The lake cannot be read now; before its first batch there is none."""

    problem: str
    sentence = "the lake cannot be read: {problem}"


@contextmanager
def reading_lake() -> Iterator[None]:
    """Turn what Spark raises inside into ``LakeUnreadableError``, by its first line."""
    try:
        yield
    except (PySparkException, Py4JError) as problem:
        raise LakeUnreadableError(str(problem).partition("\n")[0]) from problem


class LakeHours:
    """Reads tables that another job writes. All may raise ``LakeUnreadableError``."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    @reading_lake()
    def latest_ms(self) -> int | None:
        """The beginning of the last hour that was counted; ``None`` where none was."""
        hours = self._session.table(table_name(self._session, HOURLY))
        [row] = hours.agg(F.max("hour_ms").alias("latest_ms")).collect()
        latest_ms: int | None = row.latest_ms
        return latest_ms

    @reading_lake()
    def since(self, since_ms: int, streams: Collection[str]) -> Sequence[FlowHour]:
        """All hours that began at ``since_ms`` or later, of some streams: devices name any."""
        concluded = F.col("parsed") + F.col("empty") + F.col("parked")
        names = ("stream", "hour_ms", "devices", "parked")
        hours = self._since(HOURLY, since_ms).where(F.col("stream").isin([*streams]))
        rows = hours.select(*names, concluded.alias("concluded")).collect()
        return [FlowHour(**row.asDict()) for row in rows]

    @reading_lake()
    def objectives_since(self, since_ms: int) -> Sequence[ObjectiveHour]:
        """How flows kept their objectives in the hours that began at ``since_ms`` or later."""
        hours = self._since(OBJECTIVES, since_ms).select(*ObjectiveHour._fields)
        return [ObjectiveHour(*row) for row in hours.collect()]

    def _since(self, table: LakeTable, since_ms: int) -> DataFrame:
        is_since = (F.col("day") >= day_of(since_ms)) & (F.col("hour_ms") >= since_ms)
        return self._session.table(table_name(self._session, table)).where(is_since)
