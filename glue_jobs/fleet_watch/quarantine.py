"""Which devices to quarantine, for how long, and which alerts: a pure function of their rates."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from fleetlane.events.metadata import Alert, AlertKind
from fleetlane.events.overrides import DeviceOverride, Overrides, Restriction

STALE_MS: Final = 300_000
"""What arrived longer ago says nothing about what a device does now."""

_SHARE_MIN: Final = 20
OVER_RATE_LIMIT: Final = "over_ceiling"
"""The cause that marks our own overrides: what an operator wrote is left alone."""

QUARANTINED_MAX: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PerMinute:
    """How many messages a minute, and how many bytes of those that Kafka carries whole."""

    messages: int
    bytes: int
    is_of_flow: bool = False
    """Whether its owner chose one of them: it is for what is sent to this stream alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """What a device sent to a stream in a window, or in a part of one.

    ``inline_bytes`` leaves out large bodies, which S3 holds. ``seen_ms`` is when it last did so by
    itself, and with which ``firmware``.
    """

    device_id: str
    stream: str
    window_ms: int
    messages: int
    inline_bytes: int = 0
    seen_ms: int | None = None
    firmware: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TooFast:
    """A device that sent more in a window than ``messages_max``, or than ``bytes_max``."""

    activity: Activity
    messages_max: int
    bytes_max: int
    is_of_flow: bool

    @property
    def excess(self) -> float:
        """How many times as much as it may, by messages or by bytes."""
        sent = self.activity
        return max(sent.messages / self.messages_max, sent.inline_bytes / self.bytes_max)


class DeviceRates:
    """Adds the batches up.

    It remembers no device that sent less in a batch than a twentieth of what it may in a window:
    so it holds few entries, however large the fleet. A restart forgets all: a device that sends too
    much is noticed a window later.
    """

    def __init__(self, *, window_ms: int) -> None:
        self._window_ms = window_ms
        self._sent: dict[tuple[str, str, int], Activity] = {}
        self._before, self._number = self._sent, -1

    def add(
        self,
        batch: Iterable[Activity],
        number: int,
        rate_limit: Callable[[str, str], PerMinute],
        *,
        now_ms: int,
        streams: Collection[str],
    ) -> Iterator[TooFast]:
        """Add a batch, and give those of its devices that are over the rate limit by now.

        ``rate_limit`` says how much a minute a device may send to a stream. A batch that failed
        comes again with its ``number``, and counts once. What a device sends to others than
        ``streams``, unless none are known, is one: it may make up names.
        """
        oldest_ms = now_ms - STALE_MS
        if number != self._number:
            self._before, self._number = self._sent, number
        self._sent = {at: sent for at, sent in self._before.items() if at[2] >= oldest_ms}
        of_batch_by = dict[tuple[str, str, int], Activity]()
        for one in batch:
            stream = one.stream if not streams or one.stream in streams else ""
            at = one.device_id, stream, one.window_ms
            of_batch_by[at] = _added(of_batch_by[at], one) if at in of_batch_by else one
        for at, one in of_batch_by.items():
            per_minute = rate_limit(one.device_id, one.stream)
            of_batch = TooFast(
                activity=one,
                messages_max=max(1, per_minute.messages * self._window_ms // 60_000),
                bytes_max=max(1, per_minute.bytes * self._window_ms // 60_000),
                is_of_flow=per_minute.is_of_flow,
            )
            if one.window_ms < oldest_ms or of_batch.excess * _SHARE_MIN < 1:
                continue
            before = self._sent.get(at)
            self._sent[at] = one if before is None else _added(before, one)
            of_window = replace(of_batch, activity=self._sent[at])
            if of_window.excess > 1:
                yield of_window


def _added(before: Activity, one: Activity) -> Activity:
    inline_bytes = before.inline_bytes + one.inline_bytes
    return replace(one, messages=before.messages + one.messages, inline_bytes=inline_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineRules:
    """A device is quarantined until it was calm for ``hold_ms``; at most ``devices_max`` at once.

    Where more devices run away, the fleet or a deploy is the cause, and an operator must look.
    """

    hold_ms: int
    window_ms: int
    devices_max: int = QUARANTINED_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What follows. ``held`` are new or longer quarantines; ``left`` had no room among them."""

    alerts: tuple[Alert, ...]
    held: Mapping[str, DeviceOverride]
    is_over: bool
    left: int


def judged(
    fast: Iterable[TooFast], present: Overrides, rules: QuarantineRules, *, now_ms: int
) -> Judgement:
    worst = _worst_of_each(fast)
    ours = {one for one, held in present.devices.items() if held.cause == OVER_RATE_LIMIT}
    calm = [one for one in ours if present.devices[one].is_over(now_ms) and one not in worst]
    until_ms, room = now_ms + rules.hold_ms, rules.devices_max - len(ours) + len(calm)
    alerts = [_calm_alert(one, present.devices[one], now_ms) for one in sorted(calm)]
    held, left = dict[str, DeviceOverride](), 0
    hold = partial(
        DeviceOverride, status=Restriction.QUARANTINED, until_ms=until_ms, cause=OVER_RATE_LIMIT
    )
    for device_id, one in worst.items():
        known = present.devices.get(device_id)
        stream = one.activity.stream if one.is_of_flow else None
        if known is not None and device_id in ours:
            left_ms = (known.until_ms or 0) - now_ms
            wider = stream if left_ms <= 0 or known.stream == stream else None
            # Each change is a write that all functions read: not before half of the time is over.
            if wider != known.stream or left_ms < rules.hold_ms // 2:
                held[device_id] = hold(stream=wider)
        elif known is not None and not known.is_over(now_ms):
            continue
        elif room > 0:
            room -= 1
            held[device_id] = hold(stream=stream)
            alerts.append(_over_alert(one, rules, now_ms, until_ms))
        else:
            left += 1
    return Judgement(alerts=tuple(alerts), held=held, is_over=bool(calm), left=left)


def with_held(present: Overrides, held: Mapping[str, DeviceOverride], *, now_ms: int) -> Overrides:
    """The overrides with these; what an operator decided meanwhile stays."""
    for device_id, override in held.items():
        known = present.devices.get(device_id)
        if known is None or known.cause == OVER_RATE_LIMIT or known.is_over(now_ms):
            present = present.restricted([device_id], override)
    return present


def _worst_of_each(fast: Iterable[TooFast]) -> dict[str, TooFast]:
    """For each device its worst window and stream, the worst device first."""
    worst: dict[str, TooFast] = {}
    for one in sorted(fast, key=lambda one: one.excess, reverse=True):
        first = worst.setdefault(one.activity.device_id, one)
        if first.activity.stream != one.activity.stream:  # then no single flow is concerned
            worst[one.activity.device_id] = replace(first, is_of_flow=False)
    return worst


def _over_alert(one: TooFast, rules: QuarantineRules, now_ms: int, until_ms: int) -> Alert:
    sent = one.activity
    return Alert(
        id=f"{AlertKind.OVER_RATE_LIMIT}/{sent.device_id}/{sent.stream}/{sent.window_ms}",
        kind=AlertKind.OVER_RATE_LIMIT,
        at_ms=now_ms,
        device_id=sent.device_id,
        stream=sent.stream,
        messages=sent.messages,
        messages_max=one.messages_max,
        inline_bytes=sent.inline_bytes,
        inline_bytes_max=one.bytes_max,
        window_s=rules.window_ms // 1_000,
        quarantined_until_ms=until_ms,
    )


def _calm_alert(device_id: str, was: DeviceOverride, now_ms: int) -> Alert:
    its_id = f"{AlertKind.CALM}/{device_id}/{was.until_ms}"
    return Alert(id=its_id, kind=AlertKind.CALM, at_ms=now_ms, device_id=device_id)
