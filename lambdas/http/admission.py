"""Who may send right now, and how much: overrides, then ceilings; for what devices call."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Protocol

import msgspec

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.overrides import Ceilings, Overrides, Restriction
from lambdas.http.rate_limits import Allowances, Verdict

_REPORTED_EVERY_MS: Final = 60_000


class RevokedDeviceError(FleetlaneError):
    """The device was revoked after its token was last checked."""

    reason = "revoked"
    device_id: str
    sentence = "device {device_id} is revoked"


class TooManyMessagesError(FleetlaneError):
    """The device is beyond its hard ceiling. The same message may be sent again later."""

    reason = "too_many_messages"
    device_id: str
    per_minute_max: int

    def __str__(self) -> str:
        most = f"the limit is {self.per_minute_max} a minute"
        return f"device {self.device_id} sends too many messages; {most}"


class CurrentOverrides(Protocol):
    """Where the overrides in force are asked for; answers at once."""

    def current(self) -> Overrides: ...


class _Sender(msgspec.Struct, kw_only=True, gc=False):
    """What is remembered of a device: what it may still send, and when it was last reported."""

    allowances: Allowances
    reported_ms: int | None = None


class Admission:
    """Decides on each message. May be used by several threads.

    Messages are counted here, in one running function, and nowhere else: asking a store for each
    message would make ingest as slow as that store, and as weak. A fleet is served by many
    functions, and each sees a part of what a device sends. So a device below its ceiling is never
    held back; one far beyond it always is; in between it depends on how many functions run. Only
    the ``devices_max`` devices that sent last are remembered.
    """

    def __init__(
        self,
        overrides: CurrentOverrides,
        *,
        ceilings: Ceilings | None,
        on_over_ceiling: Callable[[str, Verdict], None],
        devices_max: int = 10_000,
    ) -> None:
        """Remember nobody yet.

        Args:
            overrides: What holds for devices at once.
            ceilings: The stage's; ``None``: there are none unless the overrides have some.
            on_over_ceiling: Receives a device's id and what becomes of its message, when it goes
                beyond a ceiling; once a minute for each device.
            devices_max: How many devices are remembered.
        """
        self._overrides, self._ceilings = overrides, ceilings
        self._on_over_ceiling, self._devices_max = on_over_ceiling, devices_max
        self._senders: OrderedDict[str, _Sender] = OrderedDict()
        self._lock = threading.Lock()

    def goes_aside(self, device_id: str, *, now_ms: int, via: str | None = None) -> bool:
        """Decide on one more message of a device: whether it belongs into the slow lane.

        To be asked once for each message. ``via`` is the gateway that brings it, which must not be
        held back either; its own ceilings are not for what others send.

        Raises:
            RevokedDeviceError: It, or its gateway, may not send at all.
            TooManyMessagesError: It is beyond its hard ceiling.
        """
        overrides = self._overrides.current()
        is_held = False
        if overrides.devices:
            senders = (device_id,) if via is None else (via, device_id)
            held = [_is_quarantined(one, overrides, now_ms) for one in senders]
            is_held = any(held)
        ceilings = overrides.ceilings_of(device_id, of_stage=self._ceilings)
        if ceilings is None:
            return is_held
        verdict = self._verdict(device_id, ceilings, now_ms)
        if verdict is Verdict.REFUSED:
            raise TooManyMessagesError(device_id, ceilings.hard_per_minute)
        return is_held or verdict is Verdict.ASIDE

    def _verdict(self, device_id: str, ceilings: Ceilings, now_ms: int) -> Verdict:
        with self._lock:
            sender = self._senders.pop(device_id, None)
            if sender is None:
                sender = _Sender(allowances=Allowances.full(now_ms))
            verdict = sender.allowances.spend_one(ceilings, now_ms=now_ms)
            reported_ms = sender.reported_ms
            is_to_be_reported = verdict is not Verdict.WITHIN and (
                reported_ms is None or abs(now_ms - reported_ms) >= _REPORTED_EVERY_MS
            )
            if is_to_be_reported:
                sender.reported_ms = now_ms
            self._senders[device_id] = sender
            if len(self._senders) > self._devices_max:
                self._senders.popitem(last=False)
        if is_to_be_reported:
            self._on_over_ceiling(device_id, verdict)
        return verdict


def _is_quarantined(device_id: str, overrides: Overrides, now_ms: int) -> bool:
    """Raises ``RevokedDeviceError`` where it is revoked instead."""
    restriction = overrides.restriction(device_id, now_ms=now_ms)
    if restriction is Restriction.REVOKED:
        raise RevokedDeviceError(device_id)
    return restriction is Restriction.QUARANTINED
