"""Which devices report, and which are silent.

Relayed messages do not prove that the device is alive; they are counted separately.
"""

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from operations.fleet.fleet import HISTORY_DAYS, IN_WINDOW, Fleet

COVERAGE_DAYS: Final = (1, 2, 7)
_MAY_SEND: Final = "status != 'revoked'"

COVERAGE_SQL: Final = f"""
    with senders as (
        select device_id, bool_or(via is null) as is_direct
        from received where {IN_WINDOW} group by device_id
    ), fleet as (
        select device_id from registered where {_MAY_SEND}
    )
    select
        $days as days,
        (select count(*) from fleet) as registered,
        count(*) filter (fleet.device_id is not null and is_direct) as reported,
        count(*) filter (fleet.device_id is not null and not is_direct) as through_gateway,
        count(*) filter (fleet.device_id is null) as unregistered
    from senders left join fleet using (device_id)
"""

DAYS_SQL: Final = f"""
    with senders as (
        select day, device_id, bool_or(via is null) as is_direct, count(*) as messages
        from received where {IN_WINDOW} group by day, device_id
    )
    select
        day,
        count(*) filter (is_direct) as reported,
        count(*) filter (not is_direct) as through_gateway,
        sum(messages)::bigint as messages
    from senders semi join (select device_id from registered where {_MAY_SEND}) using (device_id)
    group by day order by day
"""

_SEEN: Final = """
    select
        device_id,
        max(coalesce(heard_ms, if(via is null, last_received_ms, null))) as last_ms,
        max(coalesce(gateway_ms, if(via is null, null, last_received_ms))) as gateway_ms
    from daily where last_received_ms <= $asked_at_ms group by device_id
"""
_SEEN_COLUMNS: Final = (
    "device_id, device_type, status, gateway_id, registered_ms, last_ms, gateway_ms"
)

DEVICE_SQL: Final = f"""
    select {_SEEN_COLUMNS}
    from registered left join ({_SEEN}) using (device_id)
    where device_id = $device_id
"""

SILENT_SQL: Final = f"""
    with reported as (
        select distinct device_id from received where {IN_WINDOW} and via is null
    )
    select {_SEEN_COLUMNS}
    from registered anti join reported using (device_id) left join ({_SEEN}) using (device_id)
    where {_MAY_SEND} and registered_ms <= $since_ms
    order by last_ms is null, last_ms desc, device_id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How many of the ``registered`` devices reported in the last ``days``.

    ``reported`` sent at least one message directly. ``through_gateway`` sent none, but a gateway
    relayed a message of theirs. ``unregistered`` sent, and are not registered, or revoked.
    """

    days: int
    registered: int
    reported: int
    through_gateway: int
    unregistered: int

    @property
    def share(self) -> float | None:
        """``reported`` of ``registered``; ``None`` if no device is registered."""
        return self.reported / self.registered if self.registered else None


@dataclass(frozen=True, slots=True, kw_only=True)
class DayCoverage:
    """The registered devices that reported on one day (UTC), as in ``Coverage``."""

    day: date
    reported: int
    through_gateway: int
    messages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceSeen:
    """A registered device, and when its last direct message arrived; ``None`` if none ever did.

    ``gateway_ms`` is when a gateway last relayed a message of it.
    """

    device_id: str
    device_type: str
    status: str
    gateway_id: str | None
    registered_ms: int
    last_ms: int | None
    gateway_ms: int | None


def coverage(fleet: Fleet, *, days: int) -> Coverage:
    """How many registered devices reported in the last ``days`` times 24 hours."""
    return fleet.rows(Coverage, COVERAGE_SQL, days=days, **fleet.window(days))[0]


def coverage_by_day(fleet: Fleet, *, days: int = HISTORY_DAYS) -> list[DayCoverage]:
    """How many reported on each day, the oldest first; the first and last days are incomplete."""
    found = {one.day: one for one in fleet.rows(DayCoverage, DAYS_SQL, **fleet.window(days))}
    first = fleet.since_day(days)
    every = (first + timedelta(days=number) for number in range(days + 1))
    return [
        found.get(day, DayCoverage(day=day, reported=0, through_gateway=0, messages=0))
        for day in every
    ]


def silent(fleet: Fleet, *, days: int) -> list[DeviceSeen]:
    """Registered devices that sent nothing directly for ``days``.

    The last to fall silent come first, those that never reported last. Devices registered within
    these days are left out: they may not be installed yet.
    """
    return fleet.rows(DeviceSeen, SILENT_SQL, **fleet.window(days))


def seen(fleet: Fleet, device_id: str) -> list[DeviceSeen]:
    """One device, silent or not; empty if it is not registered."""
    return fleet.rows(DeviceSeen, DEVICE_SQL, device_id=device_id, asked_at_ms=fleet.asked_at_ms)
