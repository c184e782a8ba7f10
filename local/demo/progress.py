"""How far the demonstration is, and what is notified of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fleetlane.events.lanes import Lane
from operations.lanes.tally import LaneCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoProgress:
    """How far it is. ``waiting`` are accepted messages without an outcome, once all are sent.

    ``landed`` says where messages were durable when they were accepted.
    """

    planned: int
    sent: int
    waiting: int | None
    landed: Mapping[str, int]
    lanes: Mapping[Lane, LaneCounts]
    elapsed_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoEvents:
    """What is called at each step of the start, at progress, and when a part died."""

    on_step: Callable[[str], None]
    on_progress: Callable[[DemoProgress], None]
    on_restart: Callable[[str], None]
