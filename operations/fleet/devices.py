"""Devices: which report, which are silent; one device by day, and the gaps in its data.

Relayed messages do not prove that the device is alive; they are counted separately.
"""

from typing import Final

from fleetlane.events.lake.queries import queries
from fleetlane.events.times import DAY_MS, HOUR_MS
from operations.fleet.fleet import IN_WINDOW, Fleet
from operations.fleet.questions import Cell, Question, Table, ValueCell, cells, numbers, share
from operations.fleet.wording import duration, moment_short, size

COVERAGE_DAYS: Final = (1, 2, 7)
GAP_MIN_MS: Final = HOUR_MS
_SQL: Final = queries(__package__, "devices.sql", in_window=IN_WINDOW, day_ms=DAY_MS)

COVERAGE: Final = Question(
    name="coverage",
    title="Coverage",
    sql=_SQL["coverage"],
    columns={
        "in the last": lambda row: "24 hours" if row["days"] == 1 else f"{row['days']} days",
        **numbers(reported="sent directly"),
        "of registered": share("reported", "registered"),
        **numbers(through_gateway="only through a gateway", unregistered="not registered"),
    },
)
"""How many of the ``registered`` devices reported.

Those ``reported`` sent at least one message directly. Those ``through_gateway`` sent none, but a
gateway relayed a message of theirs. The ``unregistered`` sent, and are not registered, or revoked.
"""


COVERAGE_BY_FIRMWARE: Final = Question(
    name="by_firmware",
    title="Coverage by type and firmware",
    sql=_SQL["by_firmware"],
    columns={
        **cells(device_type="type", firmware="firmware"),
        **numbers(registered="registered", reported_before="sent the day before"),
        **numbers(reported="sent in 24 hours", change="change"),
        "of registered": share("reported", "registered"),
    },
    text_columns=2,
    empty="No device is registered.",
)
"""Devices that sent directly in the last 24 hours and in those before; the greatest fall first.

Needs two days. Firmware is what a device declared last, null where it never did.
"""


def _over_time(key: str, of_message: str, times: str) -> str:
    return _SQL["over_time"].format(key=key, of_message=of_message, times=times)


_OVER_TIME: Final = numbers(
    reported="sent directly", through_gateway="only through a gateway", messages="messages"
)
COVERAGE_BY_DAY: Final = Question(
    name="by_day",
    title="Coverage by day",
    sql=_over_time(
        "day",
        "day",
        "generate_series($since_day, epoch_ms($asked_at_ms)::date, interval 1 day)::date[]",
    ),
    columns={"day (UTC)": ValueCell("day"), **_OVER_TIME},
)
"""The same of each day (UTC), the oldest first; the first and last days are incomplete."""

COVERAGE_BY_HOUR: Final = Question(
    name="by_hour",
    title="Coverage by hour",
    sql=_over_time(
        "hour_ms",
        f"received_ms - received_ms % {HOUR_MS}",
        f"generate_series($first_ms - $first_ms % {HOUR_MS}, $asked_at_ms, {HOUR_MS})",
    ),
    columns={"hour (UTC)": ValueCell("hour_ms", moment_short), **_OVER_TIME},
)
"""The same of each hour from that of ``first_ms`` on."""


def coverage(fleet: Fleet) -> Table:
    """How many devices reported in the last 24 hours, in two days, and in seven."""
    found = [fleet.ask(COVERAGE, days=days) for days in COVERAGE_DAYS]
    return found[0].of([row for one in found for row in one.rows])


_SEEN_COLUMNS: Final[dict[str, Cell]] = {
    **cells(device_id="device", device_type="type", status="status"),
    "last message (UTC)": ValueCell("last_ms", moment_short),
    "silent for": lambda row: (
        "never reported" if row["last_ms"] is None else duration(row["silent_ms"])
    ),
    "last relayed (UTC)": ValueCell("gateway_ms", moment_short),
}

DEVICE: Final = Question(
    name="device",
    title="In the registry",
    sql=_SQL["device"],
    columns=_SEEN_COLUMNS,
    text_columns=3,
    empty="The device is not registered.",
)
"""One device, silent or not; no row if it is not registered.

``last_ms`` is when its last direct message arrived, ``gateway_ms`` when a gateway last relayed one.
"""

SILENT: Final = Question(
    name="silent",
    title="Silent for {days} days or more",
    sql=_SQL["silent"],
    columns=_SEEN_COLUMNS,
    text_columns=3,
    empty="No registered device was silent for {days} days or more.",
)
"""Registered devices that sent nothing directly.

The last to fall silent come first, those that never reported last. Devices registered within these
days are left out: they may not be installed yet.
"""

DEVICE_DAYS: Final = Question(
    name="days",
    title="By day",
    sql=_SQL["days"],
    columns={
        **cells(day="day (UTC)", stream="stream"),
        **numbers(messages="messages"),
        "bytes": ValueCell("body_bytes", size),
        **numbers(through_gateway="through a gateway"),
        "firmware": ValueCell("firmware"),
        **numbers(parsed="parsed", empty="empty", parked="parked"),
        "last (UTC)": ValueCell("last_ms", moment_short),
    },
    text_columns=2,
    empty="The device sent nothing in the last {days} days.",
)
"""A device's messages by day (UTC) and stream, the latest first, and their outcomes."""

GAPS: Final = Question(
    name="gaps",
    title="Gaps of an hour or more in the device's data",
    sql=_SQL["gaps"],
    columns={
        "stream": ValueCell("stream"),
        **cells(moment_short, from_ms="from (UTC)", to_ms="to (UTC)"),
        "length": ValueCell("length_ms", duration),
    },
    parameters={"device_id": None, "gap_min_ms": GAP_MIN_MS, "gaps_max": 1_000},
    empty="No gaps of an hour or more were found in the data of the last {days} days.",
)
"""The longest times without data between stated ranges, of one device or of all.

Ranges may overlap and come in any order. Messages that state none, or one that ends before it
starts, are ignored. A gap is found once data from after it has arrived.
"""
