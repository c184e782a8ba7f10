"""What the lake has at the end of the demonstration: the report, and the standing ledger."""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from operations.endpoints import Endpoints
from operations.fleet.tables import LakeMissingError
from operations.lake import fleet_of, lake_of
from operations.ledger.reconciliation import Ledger
from operations.ledger.standing import StandingLedger, standing_ledger
from operations.platform import Platform
from operations.report.page import write_report

_LOOK_EVERY_S: Final = 1.0
_STANDING_S_MAX: Final = 120.0


def standing_that_covers(ledger: Ledger, endpoints: Endpoints, data: Path) -> StandingLedger | None:
    """The standing ledger once it has as many outcomes as ``ledger``, and nothing waits in it.

    Blocks for two minutes at most, and gives it then as far as it has come; ``None`` where there is
    none yet.
    """
    messages = ledger.parsed + ledger.empty + ledger.parked
    give_up_s = time.monotonic() + _STANDING_S_MAX
    while True:
        found = _standing_now(endpoints, data)
        if (found is not None and found.covers(messages)) or time.monotonic() >= give_up_s:
            return found
        time.sleep(_LOOK_EVERY_S)


def _standing_now(endpoints: Endpoints, data: Path) -> StandingLedger | None:
    with suppress(LakeMissingError), lake_of(Platform.on_laptop(endpoints, data)) as catalog:
        return standing_ledger(catalog, since_ms=0)
    return None


def report_written(
    endpoints: Endpoints,
    data: Path,
    page: Path,
    *,
    messages: int,
    patience_s: float,
    clock_s: Callable[[], float] = time.time,
) -> bool:
    """Write the report of a running platform; ``False`` where it has no lake.

    Blocks until the lake has the results of as many ``messages``, or for ``patience_s``; the
    report says by itself how far the lake has come.
    """
    platform = Platform.on_laptop(endpoints, data)
    catalog = platform.lake_catalog
    if catalog is None or not catalog.is_file():
        return False
    give_up_s = clock_s() + patience_s
    while True:
        is_last = clock_s() >= give_up_s
        try:
            with fleet_of(platform, asked_at_ms=int(clock_s() * 1_000)) as fleet:
                if is_last or fleet.final_outcomes() >= messages:
                    write_report(fleet, page)
                    return True
        except LakeMissingError:  # its tables come with its first batch
            if is_last:
                return False
        time.sleep(_LOOK_EVERY_S)
