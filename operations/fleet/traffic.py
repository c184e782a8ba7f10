"""Messages: their lag and size, malformed ones by firmware, and parse times by parser.

Lag is arrival minus the end of the data, as the device states it.
"""

from typing import Final

from fleetlane.events.times import DAY_MS, HOUR_MS
from operations.fleet.fleet import IN_WINDOW
from operations.fleet.questions import Question, Row, ValueCell, cells, numbers, share
from operations.fleet.wording import duration, limit, micros, percent, ratio, size, span

LATE_OVER_MS: Final = HOUR_MS
LATE_SHARE_MIN: Final = 0.5
LATE_MESSAGES_MIN: Final = 5

LATE: Final = Question(
    name="late",
    title="Chronically late devices",
    sql=f"""
        with lags as (
            select device_id, device_type, via, received_ms, received_ms - end_ms as lag_ms
            from received where {IN_WINDOW} and end_ms is not null
        )
        select
            device_id,
            arg_max(device_type, received_ms) as device_type,
            count(*) as messages,
            count(*) filter (lag_ms > $over_ms) as late,
            quantile_disc(lag_ms, 0.5)::bigint as median_lag_ms,
            late / messages as share,
            arg_max_null(via, received_ms) as gateway_id
        from lags group by device_id
        having messages >= $messages_min and late >= $share_min * messages
        order by share desc, median_lag_ms desc, device_id
    """,
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

Messages that do not state their data's end time are not counted.
"""

_ABOVE_ALL: Final = 2**63 - 1
"""The bound that DuckDB names what is above all others by."""


def _histogram(value: str, where: str) -> str:
    """Messages above ``low`` up to and including ``high``; null is an open end."""
    return f"""
        with counted as (
            select histogram({value}, $bounds::bigint[]) as counts from received where {where}
        ), bins as (
            select
                unnest([null] || $bounds::bigint[]) as low,
                unnest($bounds::bigint[] || [null]) as high
        )
        select
            low, high,
            coalesce(counts[coalesce(high, {_ABOVE_ALL})], 0)::bigint as messages,
            messages / nullif(sum(messages) over (), 0) as share
        from bins, counted
    """


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
    sql=_histogram("received_ms - end_ms", f"{IN_WINDOW} and end_ms is not null"),
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
    sql=_histogram("body_bytes", IN_WINDOW),
    columns={"size": size_label, **numbers(messages="messages"), "share": _SHARE},
    parameters={"bounds": list(SIZE_BOUNDS_BYTES)},
)

SIZES: Final = Question(
    name="sizes",
    title="Sizes",
    sql=f"""
        select
            count(*) as count,
            coalesce(sum(body_bytes), 0)::bigint as total,
            quantile_disc(body_bytes, 0.5) as p50,
            quantile_disc(body_bytes, 0.95) as p95,
            quantile_disc(body_bytes, 0.99) as p99,
            max(body_bytes) as max
        from received where {IN_WINDOW}
    """,
    columns={
        **numbers(count="messages"),
        **cells(size, p50="p50", p95="p95", p99="p99", max="largest", total="total"),
    },
)
"""Of bodies as sent. A quantile is the least value that its share does not exceed."""

COMPRESSION: Final = Question(
    name="compression",
    title="Compression by stream",
    sql="""
        with summed as (
            select
                stream,
                sum(messages)::bigint as messages,
                sum(parsed_body_bytes)::bigint as body_bytes,
                sum(inflated_bytes)::bigint as inflated_bytes
            from daily where day >= $since_day and first_received_ms <= $asked_at_ms
            group by stream
        )
        select *, inflated_bytes / nullif(body_bytes, 0) as ratio
        from summed order by body_bytes desc, stream
    """,
    columns={
        "stream": ValueCell("stream"),
        **numbers(messages="messages"),
        **cells(size, body_bytes="sent", inflated_bytes="decompressed"),
        "ratio": ValueCell("ratio", ratio),
    },
    empty="No messages came in the last {days} days.",
)
"""A stream's bytes as sent, and decompressed, in whole days (UTC); most bytes first.

``messages`` are all; the bytes are of those whose final attempt decompressed its body.
"""

_OUTCOMES: Final = "day >= $since_day"
"""The condition for rows of ``parsed``: their day is the day their message arrived."""

FIRMWARE: Final = Question(
    name="firmware",
    title="Malformed by firmware",
    sql=f"""
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
            count(parked.id) as parked,
            malformed / messages as malformed_share
        from received left join parked using (id)
        where {IN_WINDOW}
        group by firmware
        order by malformed_share desc, messages desc, firmware
    """,
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
    sql="""
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
            and (parse_us > 0 or outcome in ('parsed', 'empty'))
        group by parser order by p95_us desc, parser
    """,
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
