"""Messages: their lag and size, malformed ones by firmware, and parse times by parser.

Lag is arrival minus the end of the data, as the device states it, else its last event's time.
"""

from typing import Final

from fleetlane.events.lake.queries import queries
from fleetlane.events.times import DAY_MS, HOUR_MS
from operations.fleet.fleet import IN_WINDOW
from operations.fleet.questions import Row, question

_SQL: Final = queries(__package__, "traffic.sql", in_window=IN_WINDOW)

_KEPT_LAGS: Final = {"lags": _SQL["lagging"]}

LATE_OVER_MS: Final = HOUR_MS

LATE: Final = question(
    "late",
    _SQL["late"],
    parameters={"over_ms": LATE_OVER_MS, "share_min": 0.5, "messages_min": 5},
    kept=_KEPT_LAGS,
)
"""Chronically late devices, the worst first: of enough messages, so many later than ``over_ms``.

``gateway_id`` is the gateway that relayed the last of them, if one did.

Messages whose data's end is not known are not counted.
"""

LAG_BOUNDS_MS: Final = (-1, 10_000, 60_000, 600_000, HOUR_MS, 6 * HOUR_MS, DAY_MS, 7 * DAY_MS)
"""Upper bounds of the lag bins. Below zero the device's clock is ahead of ours."""


def is_late(lags: Row) -> bool:
    return lags["low"] is not None and lags["low"] >= LATE_OVER_MS


LAGS: Final = question(
    "lags", _SQL["lags"], parameters={"bounds": list(LAG_BOUNDS_MS)}, kept=_KEPT_LAGS
)
"""Messages above ``low``, up to ``high``, as ``SIZE_BINS`` are; null is an open end."""

SIZE_BOUNDS_BYTES: Final = (
    *(100, 1_000, 10_000, 100_000),
    *(256 * 1024, 1_000_000, 4_500_000, 64 * 1024 * 1024),
)
"""Upper bounds of the size bins. Over 256 KiB a body goes by reference, over 4.5 MB by upload."""

SIZE_BINS: Final = question("bins", _SQL["bins"], parameters={"bounds": list(SIZE_BOUNDS_BYTES)})

SIZES: Final = question("sizes", _SQL["sizes"])
"""Of bodies as sent. A quantile is the least value that its share does not exceed."""

OUTSIZED: Final = question(
    "outsized",
    _SQL["outsized"],
    parameters={"times_min": 20, "bytes_min": 10_000, "devices_max": 100},
)
"""Devices by stream that sent bodies of so many times its median, and of so many bytes."""

COMPRESSION: Final = question("compression", _SQL["compression"])
"""A stream's bytes as sent, decompressed and as events, in whole days (UTC); most bytes first.

``messages`` are all; the bytes are of those whose final attempt decompressed its body.
"""

FIRMWARE: Final = question("firmware", _SQL["firmware"])
"""Messages by the firmware that they state; the highest malformed share first.

A message that a replay repaired is not counted as parked: its best attempt counts.
"""

PARSERS: Final = question("parsers", _SQL["parsers"])
"""Microseconds per attempt, of the attempts that ran the parser; the slowest p95 first.

Replays of messages that arrived before the window are left out.
"""
