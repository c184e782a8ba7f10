"""What the lake has at the end of the demonstration: the report, and the standing ledger."""

from contextlib import suppress
from pathlib import Path

from clients.lake.laptop_lake import LakeMissingError
from fleetlane.events.times import now_ms
from operations.lake import fleet_of, lake_of
from operations.ledger.lake_settling import awaited
from operations.ledger.reconciliation import Ledger, SettlingLimits
from operations.ledger.standing import StandingLedger, standing_ledger
from operations.platform import Platform
from operations.report.page import write_report


def standing_that_covers(
    ledger: Ledger, platform: Platform, *, limits: SettlingLimits
) -> StandingLedger | None:
    """The standing ledger once it has as many outcomes as ``ledger``, and nothing waits in it.

    Blocks, and gives it at the deadline as far as it has come; ``None`` where there is none yet.
    """
    messages = ledger.parsed + ledger.empty + ledger.parked

    def look() -> StandingLedger | None:
        with suppress(LakeMissingError), lake_of(platform) as catalog:
            return standing_ledger(catalog, since_ms=0)
        return None

    return awaited(look, lambda found: found is not None and found.covers(messages), limits=limits)


def write_report_of(
    platform: Platform, page: Path, *, messages: int, limits: SettlingLimits
) -> None:
    """Write the report of a running platform.

    Blocks until the lake has the results of as many ``messages``, or until the deadline; the
    report says by itself how far the lake has come.
    """

    def look() -> int:
        with fleet_of(platform, asked_at_ms=now_ms()) as fleet:
            return fleet.final_outcomes()

    awaited(look, lambda found: found >= messages, limits=limits)
    with fleet_of(platform, asked_at_ms=now_ms()) as fleet:
        write_report(fleet, page)
