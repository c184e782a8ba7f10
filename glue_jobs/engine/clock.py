"""Processing time: what the clock of whoever runs a job says."""

import time


def now_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000
