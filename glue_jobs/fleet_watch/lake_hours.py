"""The lake's table ``hourly``, read by Spark."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.lake.tables import HOURLY
from glue_jobs.fleet_watch.flow_hours import FlowHour


class HoursUnavailableError(FleetlaneError):
    """The lake's hours cannot be read now; before the lake's first batch there are none."""

    reason = "hours_unavailable"
    problem: str

    def __str__(self) -> str:
        return f"{HOURLY.full_name} cannot be read: {self.problem}"


class LakeHours:
    """Reads a table that another job writes. Both may raise the error above."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    def latest_ms(self) -> int | None:
        """The beginning of the last hour that was counted; ``None`` where none was."""
        with _reading():
            [row] = self._hours().agg(F.max("hour_ms").alias("latest_ms")).collect()
        latest_ms: int | None = row.latest_ms
        return latest_ms

    def since(self, since_ms: int) -> Sequence[FlowHour]:
        """All hours that began at ``since_ms`` or later, of all streams."""
        day = datetime.fromtimestamp(since_ms / 1_000, UTC).date()
        is_since = (F.col("day") >= day) & (F.col("hour_ms") >= since_ms)
        concluded = F.col("parsed") + F.col("empty") + F.col("parked")
        names = ("stream", "hour_ms", "devices", "parked")
        with _reading():
            rows = self._hours().where(is_since).select(*names, concluded.alias("concluded"))
            return [FlowHour(**row.asDict()) for row in rows.collect()]

    def _hours(self) -> DataFrame:
        return self._session.table(HOURLY.full_name)


@contextmanager
def _reading() -> Iterator[None]:
    try:
        yield
    except (PySparkException, Py4JError) as problem:
        raise HoursUnavailableError(str(problem).partition("\n")[0]) from problem
