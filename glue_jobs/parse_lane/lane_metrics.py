"""A lane's metrics after every batch: how late it is, how many messages it parsed and parked."""

import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.streaming.listener import StreamingQueryProgress

from fleetlane.events.metadata import OLDER_PARSER_PREFIX, Deferral
from fleetlane.events.metrics import LaneMetric
from fleetlane.events.topics import FLEET_PARSED, PARKED
from glue_jobs.engine.cloudwatch_metrics import METRICS_INTERVAL_S, Publish
from glue_jobs.engine.query_listener import QueryListener

ARRIVALS: Final = "arrivals"
OUTPUTS: Final = "outputs"

_CHILDREN_USED_UP: Final = f'"put_off":"{Deferral.CHILDREN_USED_UP}"'.encode()
"""As ``parsed_value`` writes it. In a text of the same row each quote has a backslash before it."""

type LaneValues = Mapping[str, float]
"""``LaneMetric``'s values by name; counts are those since the batch before."""


def observing_arrivals(raw: DataFrame) -> DataFrame:
    """Let Spark note the oldest arrival of each batch. Needs: key binary, as ``raw_key`` makes."""
    arrival_ms = F.expr("try_cast(cast(key as string) as long)")
    return raw.observe(ARRIVALS, F.min(arrival_ms).alias("oldest_ms"))


def observing_outputs(records: DataFrame) -> DataFrame:
    """Let Spark count what came of each batch. Needs: topic string, value binary."""
    is_row, is_parked = F.col("topic") == FLEET_PARSED, F.col("topic") == PARKED
    others = F.count_if(is_parked) + F.count_if(F.col("topic").startswith("raw."))
    is_by_older = is_row & F.col("value").startswith(F.lit(OLDER_PARSER_PREFIX))
    is_used_up = is_row & F.contains("value", F.lit(_CHILDREN_USED_UP))
    counts = {
        LaneMetric.PARSED: F.greatest(F.lit(0), F.count_if(is_row) - others),
        LaneMetric.PARKED: F.count_if(is_parked),
        LaneMetric.BY_OLDER_PARSER: F.count_if(is_by_older),
        LaneMetric.CHILDREN_USED_UP: F.count_if(is_used_up),
    }
    return records.observe(OUTPUTS, *(count.alias(name) for name, count in counts.items()))


def output_counts(topics: Sequence[str], values: Sequence[bytes | None]) -> dict[str, int]:
    """The same counts of records that Spark does not see."""
    kinds = Counter(topics)
    parked, records = kinds[PARKED], zip(topics, values, strict=True)
    rows = [value or b"" for topic, value in records if topic == FLEET_PARSED]
    diverted = sum(count for topic, count in kinds.items() if topic.startswith("raw."))
    return {
        LaneMetric.PARSED: max(0, len(rows) - parked - diverted),
        LaneMetric.PARKED: parked,
        LaneMetric.BY_OLDER_PARSER: sum(one.startswith(OLDER_PARSER_PREFIX) for one in rows),
        LaneMetric.CHILDREN_USED_UP: sum(_CHILDREN_USED_UP in one for one in rows),
    }


def lane_values(observed: Mapping[str, Row], *, now_ms: int) -> LaneValues:
    """The metrics of a finished batch. Without messages its lane is not late at all."""
    oldest_ms = observed[ARRIVALS].oldest_ms if ARRIVALS in observed else None
    return {
        LaneMetric.LAG_SECONDS: 0.0 if oldest_ms is None else max(0, now_ms - oldest_ms) / 1000,
        **output_counts([], []),
        **(observed[OUTPUTS].asDict() if OUTPUTS in observed else {}),
    }


class LaneListener(QueryListener):
    """Publishes a lane's values of all batches since the last time, while nothing arrives too."""

    def __init__(self, query_name: str, *, publish: Publish, now_ms: Callable[[], int]) -> None:
        super().__init__(query_name)
        self._publish, self._now_ms = publish, now_ms
        self._gathered: LaneValues = {}
        self._published_ms = 0

    def on_batch(self, progress: StreamingQueryProgress) -> None:
        self.gather(lane_values(progress.observedMetrics, now_ms=self._now_ms()))

    def on_idle(self) -> None:
        self.gather(lane_values({}, now_ms=self._now_ms()))

    def gather(self, values: LaneValues) -> None:
        """Take values of another batch, or of the time since the last ones."""
        self._gathered = together(self._gathered, values)
        now_ms = self._now_ms()
        if now_ms - self._published_ms >= 1_000 * METRICS_INTERVAL_S:
            self._publish(self._gathered)
            self._gathered, self._published_ms = {}, now_ms


def together(one: LaneValues, other: LaneValues) -> LaneValues:
    """The values of two stretches of time as those of one: the worst lag, and all messages."""
    return dict(one) | {
        name: (max if name == LaneMetric.LAG_SECONDS else operator.add)(value, one.get(name, 0))
        for name, value in other.items()
    }
