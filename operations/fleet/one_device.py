"""One device: its messages by day, and the gaps in its data."""

from dataclasses import dataclass
from datetime import date
from typing import Final

from fleetlane.events.times import HOUR_MS
from operations.fleet.fleet import HISTORY_DAYS, IN_WINDOW, Fleet

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
