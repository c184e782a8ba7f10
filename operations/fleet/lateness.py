"""Who is late. The lag is arrival less the end of the data that the device declared."""

from typing import Final

from fleetlane.events.times import DAY_MS, HOUR_MS
from operations.fleet.answers import Bin, LateDevice
from operations.fleet.bins import binned
from operations.fleet.fleet import IN_WINDOW, Fleet

LATE_OVER_MS: Final = HOUR_MS
LATE_SHARE_MIN: Final = 0.5
LATE_MESSAGES_MIN: Final = 5
LAG_BOUNDS_MS: Final = (
    -1,
    10_000,
    60_000,
    600_000,
    HOUR_MS,
    6 * HOUR_MS,
    DAY_MS,
    7 * DAY_MS,
)
"""Where the bins of lags end. Below zero the device's clock is ahead of ours."""

LATE_SQL: Final = f"""
    with lags as (
        select device_id, device_type, received_ms, received_ms - end_ms as lag_ms
        from received where {IN_WINDOW} and end_ms is not null
    )
    select
        device_id,
        arg_max(device_type, received_ms) as device_type,
        count(*) as messages,
        count(*) filter (lag_ms > $over_ms) as late,
        quantile_disc(lag_ms, 0.5)::bigint as median_lag_ms
    from lags group by device_id
    having messages >= $messages_min and late >= $share_min * messages
    order by late / messages desc, median_lag_ms desc, device_id
"""

LAGS_SQL: Final = f"""
    select histogram(received_ms - end_ms, $bounds::bigint[]) as counts
    from received where {IN_WINDOW} and end_ms is not null
"""


def late(
    fleet: Fleet,
    *,
    days: int,
    over_ms: int = LATE_OVER_MS,
    share_min: float = LATE_SHARE_MIN,
    messages_min: int = LATE_MESSAGES_MIN,
) -> list[LateDevice]:
    """Chronically late devices: of enough messages, at least ``share_min`` later than ``over_ms``.

    The worst come first. Messages without a declared end do not count either way.
    """
    return fleet.rows(
        LateDevice,
        LATE_SQL,
        over_ms=over_ms,
        share_min=share_min,
        messages_min=messages_min,
        **fleet.last(days).parameters,
    )


def lags(fleet: Fleet, *, days: int) -> tuple[Bin, ...]:
    """Messages by their lag in milliseconds, in all the bins of ``LAG_BOUNDS_MS``."""
    return binned(fleet, LAGS_SQL, LAG_BOUNDS_MS, days=days)
