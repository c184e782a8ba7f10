"""Devices: which report, which are silent; one device by day, and the gaps in its data.

Relayed messages do not prove that the device is alive; they are counted separately.
"""

from typing import Final

from fleetlane.events.lake.queries import queries
from fleetlane.events.times import DAY_MS, HOUR_MS
from operations.fleet.fleet import IN_WINDOW, Fleet
from operations.fleet.questions import Table, question

COVERAGE_DAYS: Final = (1, 2, 7)
GAP_MIN_MS: Final = HOUR_MS
_SQL: Final = queries(
    __package__, "devices.sql", in_window=IN_WINDOW, day_ms=DAY_MS, hour_ms=HOUR_MS
)

COVERAGE: Final = question("coverage", _SQL["coverage"], parameters={"windows": None})
"""How many of the ``registered`` devices reported, in these days or in each of ``windows``.

Those ``reported`` sent at least one message directly. Those ``through_gateway`` sent none, but a
gateway relayed a message of theirs. The ``unregistered`` sent, and are not registered, or revoked.
"""


COVERAGE_BY_FIRMWARE: Final = question("by_firmware", _SQL["by_firmware"])
"""Devices that sent directly in the last 24 hours and in those before; the greatest fall first.

Needs two days. Firmware is what a device declared last, null where it never did.
"""


COVERAGE_BY_DAY: Final = question("by_day", _SQL["by_day"])
"""The same of each day (UTC), the oldest first; the first and last days are incomplete."""

COVERAGE_BY_HOUR: Final = question("by_hour", _SQL["by_hour"])
"""The same of each hour from that of ``first_ms`` on."""


def coverage(fleet: Fleet) -> Table:
    """How many devices reported in the last 24 hours, in two days, and in seven."""
    return fleet.ask(COVERAGE, days=max(COVERAGE_DAYS), windows=[*COVERAGE_DAYS])


DEVICE: Final = question("device", _SQL["device"])
"""One device, silent or not; no row if it is not registered.

``last_ms`` is when its last direct message arrived, ``gateway_ms`` when a gateway last relayed one.
"""

SILENT: Final = question("silent", _SQL["silent"])
"""Registered devices that sent nothing directly.

The last to fall silent come first, those that never reported last. Devices registered within these
days are left out: they may not be installed yet.
"""

DEVICE_DAYS: Final = question("days", _SQL["days"])
"""A device's messages by day (UTC) and stream, the latest first, and their outcomes."""

GAPS: Final = question(
    "gaps",
    _SQL["gaps"],
    parameters={"device_id": None, "gap_min_ms": GAP_MIN_MS, "gaps_max": 1_000},
)
"""The longest times without data between stated ranges, of one device or of all.

Ranges may overlap and come in any order. Messages that state none, or one that ends before it
starts, are ignored. A gap is found once data from after it has arrived.
"""
