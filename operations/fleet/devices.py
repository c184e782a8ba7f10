"""Devices: which report, which are silent; one device by day, and the gaps in its data.

Relayed messages do not prove that the device is alive; they are counted separately.
"""

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from fleetlane.events.times import HOUR_MS
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

COVERAGE_BY_DAY_SQL: Final = f"""
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
    found = {
        one.day: one for one in fleet.rows(DayCoverage, COVERAGE_BY_DAY_SQL, **fleet.window(days))
    }
    first = fleet.since_day(days)
    return [
        found.get(day, DayCoverage(day=day, reported=0, through_gateway=0, messages=0))
        for day in (first + timedelta(days=number) for number in range(days + 1))
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


GAP_MIN_MS: Final = HOUR_MS

DAYS_SQL: Final = f"""
    with its as (
        select * from received where {IN_WINDOW} and device_id = $device_id
    ), outcomes as (
        select
            id,
            bool_or(outcome = 'parsed') as is_parsed,
            bool_or(outcome = 'empty') as is_empty,
            bool_or(outcome = 'parked') as is_parked
        from parsed where day >= $since_day and device_id = $device_id group by id
    )
    select
        day,
        stream,
        count(*) as messages,
        sum(body_bytes)::bigint as body_bytes,
        count(via) as through_gateway,
        arg_max(firmware, received_ms) as firmware,
        count(*) filter (is_parsed) as parsed,
        count(*) filter (is_empty and not is_parsed) as empty,
        count(*) filter (is_parked and not is_parsed and not is_empty) as parked,
        max(received_ms) as last_ms
    from its left join outcomes using (id)
    group by day, stream order by day desc, stream
"""

GAPS_SQL: Final = f"""
    with spans as (
        select device_id, stream, start_ms, end_ms
        from received
        where {IN_WINDOW} and start_ms <= end_ms and ($device_id is null or device_id = $device_id)
    ), after as (
        select
            device_id, stream, start_ms as to_ms,
            max(end_ms) over (
                partition by device_id, stream order by start_ms
                rows between unbounded preceding and 1 preceding
            ) as from_ms
        from spans
    )
    select device_id, stream, from_ms, to_ms
    from after where to_ms - from_ms >= $gap_min_ms
    order by to_ms - from_ms desc, device_id, stream, from_ms
    limit $gaps_max
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceDay:
    """What one device sent on one day (UTC) to one stream."""

    day: date
    stream: str
    messages: int
    body_bytes: int
    through_gateway: int
    firmware: str | None
    parsed: int
    empty: int
    parked: int
    last_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A time without data between two of a device's stated data ranges."""

    device_id: str
    stream: str
    from_ms: int
    to_ms: int

    @property
    def length_ms(self) -> int:
        return self.to_ms - self.from_ms


def days_of(fleet: Fleet, device_id: str, *, days: int = HISTORY_DAYS) -> list[DeviceDay]:
    """A device's messages by day and stream, the latest first, and their outcomes."""
    return fleet.rows(DeviceDay, DAYS_SQL, device_id=device_id, **fleet.window(days))


def gaps(
    fleet: Fleet, *, days: int, device_id: str | None = None, gaps_max: int = 1_000
) -> list[Gap]:
    """The longest times without data between stated ranges, of one device or of all.

    Ranges may overlap and come in any order. Messages that state none, or one that ends before it
    starts, are ignored. A gap is found once data from after it has arrived.
    """
    return fleet.rows(
        Gap,
        GAPS_SQL,
        device_id=device_id,
        gap_min_ms=GAP_MIN_MS,
        gaps_max=gaps_max,
        **fleet.window(days),
    )
