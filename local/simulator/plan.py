"""What a run of the simulated fleet is to be like."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetPlan:
    """Equal plans make equal fleets, and equal messages save for the time in them.

    ``seconds`` is the time over which the messages are spread; ``None``: as fast as possible.
    ``messages_per_device`` holds for most devices; a few have only one to send. ``patience_s`` is
    how long a device keeps trying one message before the simulation gives up on it; firmware
    never would.
    """

    devices: int = 2_000
    messages_per_device: int = 5
    seed: int = 1
    seconds: float | None = None
    connections: int = 64
    patience_s: float = 120.0
