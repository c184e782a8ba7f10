"""A line of the bill."""

from dataclasses import dataclass

from fleetlane.events.lanes import Lane


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What a component costs in a month.

    ``fixed_usd`` is paid without a single message; ``growing_usd`` comes on top, with messages.
    Without a ``lane`` all lanes share it, by their messages.
    """

    component: str
    lane: Lane | None = None
    fixed_usd: float = 0.0
    growing_usd: float = 0.0

    @property
    def usd(self) -> float:
        return self.fixed_usd + self.growing_usd
