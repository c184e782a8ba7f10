"""Whether the canary's messages came through: to canonical events, and into the lake, in time."""

import logging
from collections.abc import Collection, Iterable, Mapping
from typing import Final, Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from fleetlane.events import canary
from fleetlane.events.canary import CanaryMessage, messages_between
from fleetlane.events.lake.tables import EVENTS, PARSED, LakeTable
from fleetlane.events.lanes import LANE_LIMITS, Lane
from fleetlane.events.metadata import Outcome
from fleetlane.events.metrics import JobMetric, LaneMetric
from fleetlane.events.times import DAY_MS, day_of
from glue_jobs.engine.cloudwatch_metrics import Publish
from glue_jobs.engine.session import table_name
from glue_jobs.fleet_watch.flow_watch import reading_lake

CHECK_INTERVAL_S: Final = 120
IN_LAKE_MS: Final = 480_000
"""How long after a message is canonical it may come into the lake: a trigger of the lake's, and the
time that its batch takes."""

LOOKED_BACK_MS: Final = 600_000
"""For so long after it was due a message that is missing counts, so that its alarm lasts."""

_NAMED_MAX: Final = 20
_KNOWN_MS: Final = 2 * DAY_MS

_log = logging.getLogger(__name__)


class Canaries(Protocol):
    """What the lake has of the canary; ``LakeCanaries`` reads it."""

    def began_ms(self, since_ms: int) -> int | None: ...
    def arrived(self, since_ms: int) -> Collection[str]: ...
    def slowest_ms(self, since_ms: int) -> Mapping[Lane, int]: ...


def due_ms(lane: Lane) -> int:
    """How long after its slot began a message of the lane must be in the lake."""
    return 1_000 * LANE_LIMITS[lane].lag_alarm_s + IN_LAKE_MS


def missing(raw_ids: Collection[str], *, began_ms: int, now_ms: int) -> Iterable[CanaryMessage]:
    """The messages that became due lately, are of a slot from ``began_ms`` on, and not there."""
    longest_ms = max(map(due_ms, Lane))
    for message in messages_between(max(began_ms, now_ms - longest_ms - LOOKED_BACK_MS), now_ms):
        late_ms = now_ms - message.slot_ms - due_ms(message.lane)
        if 0 <= late_ms < LOOKED_BACK_MS and message.raw_id not in raw_ids:
            yield message


def check_canaries(
    canaries: Canaries, *, publish: Publish, publish_of_lane: Mapping[Lane, Publish], now_ms: int
) -> None:
    """Count and name what is missing: nothing is kept between two checks.

    Nothing is published without a canary's message in two days. Raises ``LakeUnreadableError``.
    """
    began_ms = canaries.began_ms(now_ms - _KNOWN_MS)
    if began_ms is None:
        return
    arrived = canaries.arrived(now_ms - max(map(due_ms, Lane)) - LOOKED_BACK_MS)
    lost = list(missing(arrived, began_ms=canary.slot_at(began_ms), now_ms=now_ms))
    for message in lost[:_NAMED_MAX]:
        name = f"{message.raw_id} of {message.stream}, lane {message.lane}"
        _log.warning("canary %s, slot %d: not in the lake in time", name, message.slot_ms)
    publish({JobMetric.CANARY_MISSING: len(lost)})
    for lane, took_ms in canaries.slowest_ms(now_ms - IN_LAKE_MS - LOOKED_BACK_MS).items():
        publish_of_lane[lane]({LaneMetric.CANARY_MS: took_ms})


class LakeCanaries:
    """Reads tables that another job writes; all raise ``LakeUnreadableError``."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    @reading_lake()
    def began_ms(self, since_ms: int) -> int | None:
        """When the first message since then arrived; ``None`` where none did."""
        [row] = self._events(since_ms).agg(F.min("arrival_ms").alias("at_ms")).collect()
        began_ms: int | None = row.at_ms
        return began_ms

    @reading_lake()
    def arrived(self, since_ms: int) -> Collection[str]:
        """The raw ids of what arrived since then, and is canonical and in the lake."""
        return {row.raw_id for row in self._events(since_ms).select("raw_id").distinct().collect()}

    @reading_lake()
    def slowest_ms(self, since_ms: int) -> Mapping[Lane, int]:
        """By lane, the longest time from arrival to canonical of what arrived since then."""
        rows = (
            self._since(PARSED, since_ms, arrival="received_ms")
            .where(F.col("outcome") == Outcome.PARSED.value)
            .groupBy("lane")
            .agg(F.max(F.col("parsed_ms") - F.col("received_ms")).alias("took_ms"))
        )
        return {Lane(row.lane): row.took_ms for row in rows.collect()}

    def _events(self, since_ms: int) -> DataFrame:
        is_ours = F.col("stream").isin(sorted(canary.STREAMS))
        return self._since(EVENTS, since_ms, arrival="arrival_ms").where(is_ours)

    def _since(self, table: LakeTable, since_ms: int, *, arrival: str) -> DataFrame:
        return self._session.table(table_name(self._session, table)).where(
            (F.col("day") >= day_of(since_ms))
            & (F.col(arrival) >= since_ms)
            & (F.col("device_id") == canary.DEVICE_ID)
        )
