"""Percentiles of latencies, in milliseconds."""

from collections.abc import Mapping, Sequence

from benchmarks.latency.traffic import Measured
from fleetlane.events.lanes import Lane


def percentile_ms(latencies_ms: Sequence[int], share: float) -> int:
    """The smallest latency that this share of all does not exceed."""
    in_order = sorted(latencies_ms)
    return in_order[min(len(in_order) - 1, int(share * len(in_order)))]


def percentiles(latencies_ms: Sequence[int]) -> dict[str, int]:
    """Percentiles, the largest and how many there are; of none only that."""
    if not latencies_ms:
        return {"messages": 0}
    return {
        "messages": len(latencies_ms),
        "p50_ms": percentile_ms(latencies_ms, 0.5),
        "p95_ms": percentile_ms(latencies_ms, 0.95),
        "p99_ms": percentile_ms(latencies_ms, 0.99),
        "p999_ms": percentile_ms(latencies_ms, 0.999),
        "max_ms": max(latencies_ms),
    }


def ratios(
    *,
    alone: Mapping[Lane, Measured],
    all_lanes: Mapping[Lane, Measured],
    disturbed: Mapping[Lane, Measured],
) -> dict[str, object]:
    """How much the lanes were disturbed; ``None`` where nothing came out."""

    def ratio(over: list[int], under: list[int], share: float) -> float | None:
        if not over or not under:
            return None
        return round(percentile_ms(over, share) / percentile_ms(under, share), 2)

    sick, well = disturbed[Lane.STANDARD], all_lanes[Lane.STANDARD]
    return {
        "fast_p99_ratio": ratio(
            disturbed[Lane.FAST].latencies_ms, alone[Lane.FAST].latencies_ms, 0.99
        ),
        "standard_quick": percentiles(sick.quick_ms),
        "standard_quick_share": round(len(sick.quick_ms) / sick.quick_sent, 3),
        "standard_quick_p95_ratio": ratio(sick.quick_ms, well.quick_ms, 0.95),
    }
