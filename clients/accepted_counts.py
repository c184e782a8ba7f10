"""What ingest counted as it accepted messages: by stream, lane and minute of their arrival.

Ingest and the landing of uploads write these counts into their logs, of which CloudWatch makes
metrics: no topic is asked, so that they can be compared with what the topics hold.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import batched
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from clients.aws import CloudWatchClient, asking
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.lanes import Lane
from fleetlane.events.metrics import NAMESPACE, Dimension, FunctionMetric
from fleetlane.events.times import millis_of

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch.type_defs import MetricOutputTypeDef

MINUTE_MS: Final = 60_000
_AT_ONCE_MAX: Final = 500
_DIMENSIONS: Final = (Dimension.SERVICE, Dimension.STREAM, Dimension.LANE)


class AcceptedCountsUnavailableError(FleetlaneError):
    """The counts cannot be read now. Trying again later may succeed."""

    problem: str
    sentence = "the counts of accepted messages cannot be read: {problem}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedMinute:
    """A minute of a stream's lane; ``minute_ms`` is when it began, in epoch milliseconds.

    All streams without a flow are counted as ``NO_FLOW_STREAM``.
    """

    stream: str
    lane: Lane
    minute_ms: int


class AcceptedCounts(Protocol):
    """How many messages were accepted. A repeat that was stored once more counts once more."""

    def between(self, from_ms: int, to_ms: int) -> Mapping[AcceptedMinute, int]:
        """The counts of all minutes that began from ``from_ms`` on and before ``to_ms``.

        Minutes in which nothing was accepted are left out. The last minutes may still grow.
        Raises ``AcceptedCountsUnavailableError``.
        """


class CloudWatchAcceptedCounts:
    """The counts as CloudWatch keeps them: by the minute for 15 days.

    A minute is complete some two minutes later. A stream that counts for the first time may take a
    quarter of an hour to be listed at all: until then its messages seem not to be counted.
    """

    def __init__(self, cloudwatch: CloudWatchClient, namespace: str = NAMESPACE) -> None:
        self._cloudwatch, self._namespace = cloudwatch, namespace

    def between(self, from_ms: int, to_ms: int) -> Mapping[AcceptedMinute, int]:
        if from_ms >= to_ms:
            return {}
        counts = Counter[AcceptedMinute]()
        with asking(AcceptedCountsUnavailableError):
            for some in batched(self._metrics(), _AT_ONCE_MAX, strict=False):
                for minute, count in self._counted(some, from_ms, to_ms):
                    counts[minute] += count
        return {minute: count for minute, count in counts.items() if count}

    def _metrics(self) -> "Iterable[MetricOutputTypeDef]":
        pages = self._cloudwatch.get_paginator("list_metrics").paginate(
            Namespace=self._namespace,
            MetricName=FunctionMetric.ACCEPTED,
            Dimensions=[{"Name": name} for name in _DIMENSIONS],
        )
        metrics = (metric for page in pages for metric in page["Metrics"])
        return {_by(metric): metric for metric in metrics}.values()  # a page may repeat one

    def _counted(
        self, metrics: "Sequence[MetricOutputTypeDef]", from_ms: int, to_ms: int
    ) -> Iterator[tuple[AcceptedMinute, int]]:
        stats: Any = [
            {"Metric": one, "Period": MINUTE_MS // 1_000, "Stat": "Sum"} for one in metrics
        ]
        pages = self._cloudwatch.get_paginator("get_metric_data").paginate(
            MetricDataQueries=[{"Id": f"m{at}", "MetricStat": one} for at, one in enumerate(stats)],
            StartTime=_time_of(-(-from_ms // MINUTE_MS) * MINUTE_MS),
            EndTime=_time_of(-(-to_ms // MINUTE_MS) * MINUTE_MS),
        )
        for page in pages:
            for data in page["MetricDataResults"]:
                by = dict(_by(metrics[int(data["Id"].removeprefix("m"))]))
                stream, lane = by[Dimension.STREAM], Lane(by[Dimension.LANE])
                for began, count in zip(data["Timestamps"], data["Values"], strict=True):
                    began_ms = millis_of(began)
                    yield AcceptedMinute(stream=stream, lane=lane, minute_ms=began_ms), int(count)


def _by(metric: "MetricOutputTypeDef") -> frozenset[tuple[str, str]]:
    return frozenset((one["Name"], one["Value"]) for one in metric["Dimensions"])


def _time_of(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1_000, UTC)


class _About(msgspec.Struct):
    timestamp: int = msgspec.field(name="Timestamp")


class _Line(msgspec.Struct):
    about: _About = msgspec.field(name="_aws")
    stream: str
    lane: Lane
    accepted: list[int] = msgspec.field(name="Accepted")


class LoggedAcceptedCounts:
    """The counts in a log of the functions themselves, as on a laptop, where no CloudWatch is.

    Reads on from where it stopped, from the beginning where the log has shrunk. For one thread.
    """

    def __init__(self, log: Path) -> None:
        self._log, self._offset = log, 0
        self._counts = Counter[AcceptedMinute]()

    def between(self, from_ms: int, to_ms: int) -> Mapping[AcceptedMinute, int]:
        try:
            self._read_on()
        except OSError as problem:
            raise AcceptedCountsUnavailableError(str(problem)) from problem
        return {
            minute: count
            for minute, count in self._counts.items()
            if from_ms <= minute.minute_ms < to_ms
        }

    def _read_on(self) -> None:
        with self._log.open("rb") as log:
            if log.seek(0, 2) < self._offset:
                self._offset, self._counts = 0, Counter()
            log.seek(self._offset)
            for line in log:
                if not line.endswith(b"\n"):
                    break  # it is being written
                self._offset += len(line)
                self._count(line)

    def _count(self, line: bytes) -> None:
        try:
            read = msgspec.json.decode(line, type=_Line)
        except msgspec.MsgspecError:
            return  # something else that was printed
        if read.stream:  # those of no stream are repeats, and no more records of it
            minute_ms = read.about.timestamp - read.about.timestamp % MINUTE_MS
            minute = AcceptedMinute(stream=read.stream, lane=read.lane, minute_ms=minute_ms)
            self._counts[minute] += sum(read.accepted)
