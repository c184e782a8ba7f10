"""An hour of each flow, held against what is usual for it: a pure function of the lake's hours."""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from fleetlane.events.metadata import AlertKind
from fleetlane.events.times import DAY_MS

WEEK_MS: Final = 7 * DAY_MS
WEEKS: Final = 6
"""How many weeks back the same hour is compared."""

KNOWN_MIN: Final = 3
"""With fewer values it is unknown what is usual."""

_SPREADS: Final = 3.0
_SIGMAS_A_DEVIATION: Final = 1.4826
"""What makes a median deviation a standard one, where values lie as most do."""

_DEVICES_MARGIN: Final = 0.1
_PARKED_MARGIN: Final = 0.1

CONCLUDED_MIN: Final = 20
"""With fewer messages a share means nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowHour:
    """A row of the lake's table ``hourly``, as far as it is compared."""

    stream: str
    hour_ms: int
    devices: int
    concluded: int
    parked: int

    @property
    def parked_share(self) -> float | None:
        """Of the messages with an outcome; ``None`` where there are too few."""
        return self.parked / self.concluded if self.concluded >= CONCLUDED_MIN else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """An hour of low coverage, or with much parked, by what is usual for its flow.

    ``limit`` is how few devices would still be usual, by the same hour of the weeks before, or how
    many parked messages, by the hours of the week before.
    """

    kind: AlertKind
    hour: FlowHour
    limit: int


def findings(
    hours: Iterable[FlowHour], *, at_ms: int, streams: Collection[str]
) -> Iterator[Finding]:
    """Judge the hour that begins at ``at_ms``, of each of ``streams``, by the hours before it.

    An hour in which a stream has no row is one without devices if any stream has a row in it, else
    nothing is known of it. Whatever hour is judged itself counts as known.
    """
    known = defaultdict[str, dict[int, FlowHour]](dict)
    for hour in hours:
        known[hour.stream][hour.hour_ms] = hour
    reported = {at for of_stream in known.values() for at in of_stream}
    for stream in sorted(streams & known.keys()):
        of_stream = known[stream]
        silent = FlowHour(stream=stream, hour_ms=at_ms, devices=0, concluded=0, parked=0)
        now = of_stream.get(at_ms, silent)
        yield from _low_coverage(now, of_stream, reported)
        yield from _much_parked(now, of_stream)


def _low_coverage(
    now: FlowHour, of_stream: Mapping[int, FlowHour], reported: Collection[int]
) -> Iterator[Finding]:
    began_ms = min(of_stream)
    alike = (now.hour_ms - back * WEEK_MS for back in range(1, WEEKS + 1))
    devices = [
        of_stream[at].devices if at in of_stream else 0
        for at in alike
        if at >= began_ms and at in reported
    ]
    usual = usual_of(devices)
    if usual is not None and now.devices < usual.devices_min:
        yield Finding(kind=AlertKind.LOW_COVERAGE, hour=now, limit=round(usual.devices_min))


def _much_parked(now: FlowHour, of_stream: Mapping[int, FlowHour]) -> Iterator[Finding]:
    """A flow that has hardly a past may park no more than the margin."""
    if now.parked_share is None:
        return
    shares = [
        hour.parked_share
        for at, hour in of_stream.items()
        if now.hour_ms - WEEK_MS <= at < now.hour_ms and hour.parked_share is not None
    ]
    usual = usual_of(shares) or _NOTHING_PARKS
    if now.parked_share > usual.parked_share_max:
        limit = round(usual.parked_share_max * now.concluded)
        yield Finding(kind=AlertKind.MUCH_PARKED, hour=now, limit=limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usual:
    """The median, and the median distance from it as a standard deviation.

    One week that was out of the ordinary, an outage for one, moves neither far.
    """

    middle: float
    spread: float

    @property
    def devices_min(self) -> float:
        """Fewer devices than this are unusual.

        Where weeks are all alike, a tenth may be missing; where devices are few, chance counts:
        twice the root of their number.
        """
        chance = 2 * math.sqrt(self.middle)
        slack = max(_SPREADS * self.spread, _DEVICES_MARGIN * self.middle, chance)
        return max(0.0, self.middle - slack)

    @property
    def parked_share_max(self) -> float:
        """A larger share of parked messages than this is unusual; a tenth more is not yet."""
        return min(1.0, self.middle + max(_SPREADS * self.spread, _PARKED_MARGIN))


_NOTHING_PARKS: Final = Usual(middle=0.0, spread=0.0)


def usual_of(values: Sequence[float]) -> Usual | None:
    """Say what is usual; ``None`` where too few values are known."""
    if len(values) < KNOWN_MIN:
        return None
    middle = median(values)
    deviation = median(abs(value - middle) for value in values)
    return Usual(middle=middle, spread=_SIGMAS_A_DEVIATION * deviation)
