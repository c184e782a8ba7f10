"""Messages: their lag and size, malformed ones by firmware, and parse times by parser.

Lag is arrival minus the end of the data, as the device states it, else its last event's time.
"""

from typing import Final

from fleetlane.events.lake.queries import queries
from fleetlane.events.times import DAY_MS, HOUR_MS
from operations.fleet.fleet import IN_WINDOW
from operations.fleet.questions import Question, Row, ValueCell, cells, numbers, share
from operations.fleet.wording import duration, limit, micros, percent, ratio, size, span

_SQL: Final = queries(__package__, "traffic.sql", in_window=IN_WINDOW)

LATE_OVER_MS: Final = HOUR_MS
LATE_SHARE_MIN: Final = 0.5
LATE_MESSAGES_MIN: Final = 5

LATE: Final = Question(
    name="late",
    title="Chronically late devices",
    sql=_SQL["late"],
    columns={
        **cells(device_id="device", device_type="type", gateway_id="through"),
        **numbers(messages="messages", late="late"),
        "share": share("late", "messages"),
        "p50 lag": ValueCell("median_lag_ms", duration),
    },
    parameters={
        "over_ms": LATE_OVER_MS,
        "share_min": LATE_SHARE_MIN,
        "messages_min": LATE_MESSAGES_MIN,
    },
    text_columns=3,
    empty="No device was chronically late in the last {days} days.",
)
"""Chronically late devices, the worst first: of enough messages, so many later than ``over_ms``.

``gateway_id`` is the gateway that relayed the last of them, if one did.

Messages whose data's end is not known are not counted.
"""


def _histogram(value: str, messages: str) -> str:
    """Messages above ``low`` up to and including ``high``; null is an open end."""
    return _SQL["histogram"].format(value=value, messages=messages)


LAG_BOUNDS_MS: Final = (-1, 10_000, 60_000, 600_000, HOUR_MS, 6 * HOUR_MS, DAY_MS, 7 * DAY_MS)
"""Upper bounds of the lag bins. Below zero the device's clock is ahead of ours."""


def is_late(lags: Row) -> bool:
    return lags["low"] is not None and lags["low"] >= LATE_OVER_MS


def lag_label(lags: Row) -> str:
    """``1-10 min``: above its first bound, up to its second."""
    return "clock ahead" if lags["low"] is None else span(lags["low"], lags["high"], duration)


def size_label(sizes: Row) -> str:
    """``100 B-1 kB``: above its first bound, up to its second."""
    return span(sizes["low"], sizes["high"], limit)


_SHARE: Final = ValueCell("share", lambda share: percent(share, 1))

LAGS: Final = Question(
    name="lags",
    title="Messages by lag",
    sql=_histogram("lag_ms", f"({_SQL['lagging']})"),
    columns={"lag": lag_label, **numbers(messages="messages"), "share": _SHARE},
    parameters={"bounds": list(LAG_BOUNDS_MS)},
)

SIZE_BOUNDS_BYTES: Final = (
    *(100, 1_000, 10_000, 100_000),
    *(256 * 1024, 1_000_000, 4_500_000, 64 * 1024 * 1024),
)
"""Upper bounds of the size bins. Over 256 KiB a body goes by reference, over 4.5 MB by upload."""

SIZE_BINS: Final = Question(
    name="bins",
    title="Messages by size",
    sql=_histogram("body_bytes", f"received where {IN_WINDOW}"),
    columns={"size": size_label, **numbers(messages="messages"), "share": _SHARE},
    parameters={"bounds": list(SIZE_BOUNDS_BYTES)},
)

SIZES: Final = Question(
    name="sizes",
    title="Sizes",
    sql=_SQL["sizes"],
    columns={
        **numbers(count="messages"),
        **cells(size, p50="p50", p95="p95", p99="p99", max="largest", total="total"),
    },
)
"""Of bodies as sent. A quantile is the least value that its share does not exceed."""

OUTSIZED: Final = Question(
    name="outsized",
    title="Devices with messages far larger than their stream's",
    sql=_SQL["outsized"],
    columns={
        **cells(device_id="device", device_type="type", firmware="firmware", stream="stream"),
        **numbers(messages="messages", outsized="far larger"),
        **cells(size, largest_bytes="largest", usual_bytes="stream's p50"),
    },
    parameters={"times_min": 20, "bytes_min": 10_000, "devices_max": 100},
    text_columns=4,
    empty="No device sent a message 20 times as large as usual in the last {days} days.",
)
"""Devices by stream that sent bodies of so many times its median, and of so many bytes."""

COMPRESSION: Final = Question(
    name="compression",
    title="Compression by stream",
    sql=_SQL["compression"],
    columns={
        "stream": ValueCell("stream"),
        **numbers(messages="messages"),
        **cells(size, body_bytes="sent", inflated_bytes="decompressed", output_bytes="events"),
        **cells(ratio, ratio="decompressed to sent", output_ratio="events to sent"),
    },
    empty="No messages came in the last {days} days.",
)
"""A stream's bytes as sent, decompressed and as events, in whole days (UTC); most bytes first.

``messages`` are all; the bytes are of those whose final attempt decompressed its body.
"""

FIRMWARE: Final = Question(
    name="firmware",
    title="Malformed by firmware",
    sql=_SQL["firmware"],
    columns={
        "firmware": lambda row: row["firmware"] or "not declared",
        **numbers(messages="messages", malformed="malformed"),
        "share": share("malformed", "messages"),
        **numbers(parked="parked, all reasons"),
    },
    empty="No messages came in the last {days} days.",
)
"""Messages by the firmware that they state; the highest malformed share first.

A message that a replay repaired is not counted as parked: its best attempt counts.
"""

PARSERS: Final = Question(
    name="parsers",
    title="Parse time by parser",
    sql=_SQL["parsers"],
    columns={
        "parser": ValueCell("parser"),
        **numbers(attempts="attempts"),
        **cells(micros, p50_us="p50", p95_us="p95", p99_us="p99", max_us="longest"),
    },
    empty="No message was parsed in the last {days} days.",
)
"""Microseconds per attempt, of the attempts that ran the parser; the slowest p95 first.

Replays of messages that arrived before the window are left out.
"""
