"""Late messages and devices. Lag is arrival minus the end of the data, as the device states it."""

from dataclasses import dataclass
from typing import Final

from fleetlane.events.times import DAY_MS, HOUR_MS
from operations.fleet.fleet import IN_WINDOW, Bin, Fleet

LATE_OVER_MS: Final = HOUR_MS
LATE_SHARE_MIN: Final = 0.5
LATE_MESSAGES_MIN: Final = 5
LAG_BOUNDS_MS: Final = (-1, 10_000, 60_000, 600_000, HOUR_MS, 6 * HOUR_MS, DAY_MS, 7 * DAY_MS)
"""Upper bounds of the lag bins. Below zero the device's clock is ahead of ours."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class LateDevice:
    """A device, how many of its messages were late, and its median lag."""

    device_id: str
    device_type: str | None
    messages: int
    late: int
    median_lag_ms: int

    @property
    def share(self) -> float:
        return self.late / self.messages


def late(
    fleet: Fleet, *, days: int, over_ms: int = LATE_OVER_MS, share_min: float = LATE_SHARE_MIN
) -> list[LateDevice]:
    """Chronically late devices: of enough messages, at least ``share_min`` later than ``over_ms``.

    The worst come first. Messages that do not state their data's end time are not counted.
    """
    return fleet.rows(
        LateDevice,
        LATE_SQL,
        over_ms=over_ms,
        share_min=share_min,
        messages_min=LATE_MESSAGES_MIN,
        **fleet.window(days),
    )


def lags(fleet: Fleet, *, days: int) -> tuple[Bin, ...]:
    """Messages by their lag in milliseconds, in the bins of ``LAG_BOUNDS_MS``."""
    return fleet.histogram(LAGS_SQL, LAG_BOUNDS_MS, days=days)


def is_late(lags: Bin) -> bool:
    return lags.low is not None and lags.low >= LATE_OVER_MS
