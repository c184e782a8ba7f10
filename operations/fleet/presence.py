"""Who is heard, who is silent. A gateway that brings a device's message is not the device."""

from datetime import date, timedelta
from typing import Final

from operations.fleet.answers import Coverage, DayHeard, DeviceSeen
from operations.fleet.fleet import HISTORY_DAYS, IN_WINDOW, Fleet

COVERAGE_DAYS: Final = (1, 2, 7)
_MAY_SEND: Final = "status != 'revoked'"

COVERAGE_SQL: Final = f"""
    with heard as (
        select device_id, bool_or(via is null) as itself
        from received where {IN_WINDOW} group by device_id
    ), fleet as (
        select device_id from registered where {_MAY_SEND}
    )
    select
        $days as days,
        (select count(*) from fleet) as registered,
        count(*) filter (fleet.device_id is not null and itself) as heard,
        count(*) filter (fleet.device_id is not null and not itself) as through_gateway,
        count(*) filter (fleet.device_id is null) as unregistered
    from heard left join fleet using (device_id)
"""

DAYS_SQL: Final = f"""
    with heard as (
        select day, device_id, bool_or(via is null) as itself, count(*) as messages
        from received where {IN_WINDOW} group by day, device_id
    )
    select
        day,
        count(*) filter (itself) as heard,
        count(*) filter (not itself) as through_gateway,
        sum(messages)::bigint as messages
    from heard semi join (select device_id from registered where {_MAY_SEND}) using (device_id)
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
    with heard as (
        select distinct device_id from received where {IN_WINDOW} and via is null
    )
    select {_SEEN_COLUMNS}
    from registered anti join heard using (device_id) left join ({_SEEN}) using (device_id)
    where {_MAY_SEND} and registered_ms <= $since_ms
    order by last_ms is null, last_ms desc, device_id
"""


def coverage(fleet: Fleet, *, days: int) -> Coverage:
    """How many registered devices were heard in the last ``days`` times 24 hours."""
    window = fleet.last(days)
    return fleet.rows(Coverage, COVERAGE_SQL, days=days, **window.parameters)[0]


def heard_by_day(fleet: Fleet, *, days: int = HISTORY_DAYS) -> list[DayHeard]:
    """How many were heard on each day, the oldest first; the first and the last are parts."""
    window = fleet.last(days)
    found = {one.day: one for one in fleet.rows(DayHeard, DAYS_SQL, **window.parameters)}
    every = (window.since_day + timedelta(days=number) for number in range(days + 1))
    return [found.get(day, _nobody(day)) for day in every]


def _nobody(day: date) -> DayHeard:
    return DayHeard(day=day, heard=0, through_gateway=0, messages=0)


def silent(fleet: Fleet, *, days: int) -> list[DeviceSeen]:
    """Registered devices that sent nothing themselves for ``days``.

    Who fell silent last comes first; those that were never heard come last. Who was registered
    within these days is left out: it may not be mounted yet.
    """
    return fleet.rows(DeviceSeen, SILENT_SQL, **fleet.last(days).parameters)


def seen(fleet: Fleet, device_id: str) -> list[DeviceSeen]:
    """One device, as in ``silent``, whether it is or not; nothing where it is not registered."""
    return fleet.rows(DeviceSeen, DEVICE_SQL, device_id=device_id, asked_at_ms=fleet.asked_at_ms)
