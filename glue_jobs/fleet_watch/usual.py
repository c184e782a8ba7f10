"""What is usual: the middle of some values that were known, and how far they are from it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

KNOWN_MIN: Final = 3
"""Of fewer values nobody can say what is usual."""

_SPREADS: Final = 3.0
_SIGMAS_A_DEVIATION: Final = 1.4826
"""What makes a median deviation a standard one, where values lie as most do."""

_DEVICES_MARGIN: Final = 0.1
_PARKED_MARGIN: Final = 0.1


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


def usual_of(values: Sequence[float]) -> Usual | None:
    """Say what is usual; ``None`` where too few values are known."""
    if len(values) < KNOWN_MIN:
        return None
    middle = median(values)
    deviation = median(abs(value - middle) for value in values)
    return Usual(middle=middle, spread=_SIGMAS_A_DEVIATION * deviation)
