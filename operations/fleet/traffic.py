"""Messages: their lag and size, malformed ones by firmware, and parse times by parser.

Lag is arrival minus the end of the data, as the device states it.
"""

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


SIZE_BOUNDS_BYTES: Final = (
    100,
    1_000,
    10_000,
    100_000,
    256 * 1024,
    1_000_000,
    4_500_000,
    64 * 1024 * 1024,
)
"""Upper bounds of the size bins. Over 256 KiB a body goes by reference, over 4.5 MB by upload."""

SIZES_SQL: Final = f"""
    select
        count(*) as count,
        coalesce(sum(body_bytes), 0)::bigint as total,
        quantile_disc(body_bytes, 0.5) as p50,
        quantile_disc(body_bytes, 0.95) as p95,
        quantile_disc(body_bytes, 0.99) as p99,
        max(body_bytes) as max
    from received where {IN_WINDOW}
"""

SIZE_BINS_SQL: Final = f"""
    select histogram(body_bytes, $bounds::bigint[]) as counts from received where {IN_WINDOW}
"""

COMPRESSION_SQL: Final = """
    select
        stream,
        sum(messages)::bigint as messages,
        sum(parsed_body_bytes)::bigint as body_bytes,
        sum(inflated_bytes)::bigint as inflated_bytes
    from daily where day >= $since_day and first_received_ms <= $asked_at_ms
    group by stream order by body_bytes desc, stream
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantiles:
    """Of ``count`` values. A quantile is the least value that its share does not exceed."""

    count: int
    total: int
    p50: int | None
    p95: int | None
    p99: int | None
    max: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compression:
    """A stream's bytes as sent, and decompressed.

    ``messages`` are all; the bytes are of those whose final attempt decompressed its body.
    """

    stream: str
    messages: int
    body_bytes: int
    inflated_bytes: int

    @property
    def ratio(self) -> float | None:
        return self.inflated_bytes / self.body_bytes if self.body_bytes else None


def sizes(fleet: Fleet, *, days: int) -> Quantiles:
    """Quantiles of body sizes as sent, by reference or not."""
    return fleet.rows(Quantiles, SIZES_SQL, **fleet.window(days))[0]


def size_bins(fleet: Fleet, *, days: int) -> tuple[Bin, ...]:
    """Messages by body size in bytes, in the bins of ``SIZE_BOUNDS_BYTES``."""
    return fleet.histogram(SIZE_BINS_SQL, SIZE_BOUNDS_BYTES, days=days)


def compression(fleet: Fleet, *, days: int) -> list[Compression]:
    """Bytes as sent and decompressed, by stream; most bytes first.

    Counts whole days (UTC), from the one in which the window begins.
    """
    since_day = fleet.since_day(days)
    return fleet.rows(
        Compression, COMPRESSION_SQL, since_day=since_day, asked_at_ms=fleet.asked_at_ms
    )


_OUTCOMES: Final = "day >= $since_day"
"""The condition for rows of ``parsed``: their day is the day their message arrived."""

FIRMWARE_SQL: Final = f"""
    with failed as (
        select id, arg_max(reason, attempt) as reason
        from parsed where {_OUTCOMES} and outcome = 'parked' group by id
    ), repaired as (
        select id
        from parsed semi join failed using (id)
        where {_OUTCOMES} and outcome in ('parsed', 'empty')
    ), parked as (
        select id, reason from failed anti join repaired using (id)
    )
    select
        firmware,
        count(*) as messages,
        count(*) filter (parked.reason = 'malformed') as malformed,
        count(parked.id) as parked
    from received left join parked using (id)
    where {IN_WINDOW}
    group by firmware
    order by malformed / messages desc, messages desc, firmware
"""

PARSERS_SQL: Final = """
    select
        parser,
        count(*) as attempts,
        quantile_disc(parse_us, 0.5) as p50_us,
        quantile_disc(parse_us, 0.95) as p95_us,
        quantile_disc(parse_us, 0.99) as p99_us,
        max(parse_us) as max_us
    from parsed
    where day >= $since_day and parsed_ms > $since_ms and parsed_ms <= $asked_at_ms
        and parser is not null and put_off is null
    group by parser order by p95_us desc, parser
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirmwareHealth:
    """Messages of one firmware version, as they state it; each by its final outcome."""

    firmware: str | None
    messages: int
    malformed: int
    parked: int

    @property
    def malformed_share(self) -> float:
        return self.malformed / self.messages


@dataclass(frozen=True, slots=True, kw_only=True)
class ParserTime:
    """Microseconds per attempt, of the attempts that ran the parser."""

    parser: str
    attempts: int
    p50_us: int
    p95_us: int
    p99_us: int
    max_us: int


def by_firmware(fleet: Fleet, *, days: int) -> list[FirmwareHealth]:
    """Messages by firmware, and how many are parked; the highest malformed share first.

    A message that a replay repaired is not counted as parked: its best attempt counts. Messages
    that state no firmware are one row, whose firmware is ``None``.
    """
    return fleet.rows(FirmwareHealth, FIRMWARE_SQL, **fleet.window(days))


def parse_times(fleet: Fleet, *, days: int) -> list[ParserTime]:
    """Time per attempt by parser and version; the slowest p95 first.

    Replays of messages that arrived before the window are left out.
    """
    return fleet.rows(ParserTime, PARSERS_SQL, **fleet.window(days))
