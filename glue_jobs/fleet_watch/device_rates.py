"""How much devices sent in each window of arrival time, added up over batches."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

STALE_MS: Final = 300_000
"""What arrived longer ago says nothing about what a device does now."""

_SHARE_MIN: Final = 20

type RateLimit = Callable[[str, str], int]
"""How many messages a minute a device may send to a stream."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """What a device sent to a stream in a window, or in a part of one.

    ``seen_ms`` is when it last did so by itself, and with which ``firmware``.
    """

    device_id: str
    stream: str
    window_ms: int
    messages: int
    seen_ms: int | None = None
    firmware: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TooFast:
    """A device that sent more in a window than ``messages_max``."""

    activity: Activity
    messages_max: int


class DeviceRates:
    """Adds the batches up.

    It remembers no device that sent less in a batch than a twentieth of what it may in a window:
    so it holds few entries, however large the fleet. A restart forgets all: a device that sends too
    much is noticed a window later.
    """

    def __init__(self, *, window_ms: int) -> None:
        self._window_ms = window_ms
        self._messages: dict[tuple[str, str, int], int] = {}

    def add(
        self, batch: Iterable[Activity], rate_limit: RateLimit, *, now_ms: int
    ) -> Iterator[TooFast]:
        """Add a batch, and give those of its devices that are over the rate limit by now."""
        oldest_ms = now_ms - STALE_MS
        self._messages = {at: sent for at, sent in self._messages.items() if at[2] >= oldest_ms}
        for one in batch:
            messages_max = self._messages_max(rate_limit(one.device_id, one.stream))
            if one.window_ms < oldest_ms or one.messages * _SHARE_MIN < messages_max:
                continue
            at = one.device_id, one.stream, one.window_ms
            sent = self._messages[at] = self._messages.get(at, 0) + one.messages
            if sent > messages_max:
                whole = Activity(
                    device_id=one.device_id,
                    stream=one.stream,
                    window_ms=one.window_ms,
                    messages=sent,
                )
                yield TooFast(activity=whole, messages_max=messages_max)

    def _messages_max(self, per_minute: int) -> int:
        return max(1, per_minute * self._window_ms // 60_000)
