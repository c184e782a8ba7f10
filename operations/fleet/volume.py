"""How large messages are, as sent and decompressed."""

from dataclasses import dataclass
from typing import Final

from operations.fleet.fleet import IN_WINDOW, Bin, Fleet

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
