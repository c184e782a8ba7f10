"""Percentiles of latencies, in milliseconds."""

from collections.abc import Sequence


def percentile_ms(latencies_ms: Sequence[int], share: float) -> int:
    """The smallest latency that this share of all does not exceed."""
    in_order = sorted(latencies_ms)
    return in_order[min(len(in_order) - 1, int(share * len(in_order)))]


def percentiles(latencies_ms: Sequence[int]) -> dict[str, int]:
    """Median, 95th and 99th percentile and how many there are; of none only that."""
    if not latencies_ms:
        return {"messages": 0}
    return {
        "messages": len(latencies_ms),
        "p50_ms": percentile_ms(latencies_ms, 0.5),
        "p95_ms": percentile_ms(latencies_ms, 0.95),
        "p99_ms": percentile_ms(latencies_ms, 0.99),
    }
