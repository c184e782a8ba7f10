"""How large messages are, on the wire and unpacked."""

from typing import Final

from operations.fleet.answers import Bin, Compression, Quantiles
from operations.fleet.bins import binned
from operations.fleet.fleet import IN_WINDOW, Fleet

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
"""Where the bins of sizes end. Over 256 KiB a body goes by reference, over 4.5 MB by a form."""

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


def sizes(fleet: Fleet, *, days: int) -> Quantiles:
    """Quantiles of the bodies' bytes as they came, by reference or not."""
    return fleet.rows(Quantiles, SIZES_SQL, **fleet.last(days).parameters)[0]


def size_bins(fleet: Fleet, *, days: int) -> tuple[Bin, ...]:
    """Messages by their bytes, in the bins of ``SIZE_BOUNDS_BYTES``; all bins are there."""
    return binned(fleet, SIZE_BINS_SQL, SIZE_BOUNDS_BYTES, days=days)


def compression(fleet: Fleet, *, days: int) -> list[Compression]:
    """What bodies were on the wire and once unpacked, by stream; the heaviest first.

    Counts whole days (UTC), from the one in which the window begins.
    """
    window = fleet.last(days)
    return fleet.rows(
        Compression,
        COMPRESSION_SQL,
        since_day=window.since_day,
        asked_at_ms=window.asked_at_ms,
    )
