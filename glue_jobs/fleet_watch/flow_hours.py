"""An hour of each flow, held against what is usual for it: a pure function of the lake's hours."""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Final

from fleetlane.events.flows.flow import FlowSet
from fleetlane.events.metadata import Alert, AlertKind
from fleetlane.events.times import DAY_MS, HOUR_MS

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


def unusual(
    hours: Iterable[FlowHour], *, hour_ms: int, flows: FlowSet, now_ms: int
) -> Iterator[Alert]:
    """Judge the hour that begins at ``hour_ms``, of each of ``flows``, by the hours before it.

    An hour in which a stream has no row is one without devices if any stream has a row in it, else
    nothing is known of it. Whatever hour is judged itself counts as known. A flow that has hardly a
    past may park no more than the margin.
    """
    known = defaultdict[str, dict[int, FlowHour]](dict)
    for hour in hours:
        known[hour.stream][hour.hour_ms] = hour
    reported = {at for of_stream in known.values() for at in of_stream}
    for stream in sorted(flows.keys() & known.keys()):
        of_stream = known[stream]
        silent = FlowHour(stream=stream, hour_ms=hour_ms, devices=0, concluded=0, parked=0)
        now = of_stream.get(hour_ms, silent)
        alert = partial(
            Alert,
            at_ms=now_ms,
            stream=stream,
            owner=flows[stream].owner,
            from_ms=hour_ms,
            window_s=HOUR_MS // 1_000,
        )
        usual = usual_of(_devices_of_weeks(of_stream, hour_ms, reported))
        if usual is not None and now.devices < usual.devices_min:
            kind, devices_min = AlertKind.LOW_COVERAGE, round(usual.devices_min)
            its_id = f"{kind}/{stream}/{hour_ms}"
            yield alert(id=its_id, kind=kind, devices=now.devices, devices_min=devices_min)
        usual = usual_of(_shares_of_week(of_stream, hour_ms)) or _NOTHING_PARKS
        if now.parked_share is not None and now.parked_share > usual.parked_share_max:
            kind, parked_max = AlertKind.MUCH_PARKED, round(usual.parked_share_max * now.concluded)
            yield alert(
                id=f"{kind}/{stream}/{hour_ms}",
                kind=kind,
                messages=now.concluded,
                parked=now.parked,
                parked_max=parked_max,
            )


def _devices_of_weeks(
    of_stream: Mapping[int, FlowHour], hour_ms: int, reported: Collection[int]
) -> list[int]:
    began_ms = min(of_stream)
    alike = (hour_ms - back * WEEK_MS for back in range(1, WEEKS + 1))
    return [
        of_stream[at].devices if at in of_stream else 0
        for at in alike
        if at >= began_ms and at in reported
    ]


def _shares_of_week(of_stream: Mapping[int, FlowHour], hour_ms: int) -> list[float]:
    return [
        hour.parked_share
        for at, hour in of_stream.items()
        if hour_ms - WEEK_MS <= at < hour_ms and hour.parked_share is not None
    ]


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
