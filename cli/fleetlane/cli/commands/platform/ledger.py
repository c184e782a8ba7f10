"""``fleetlane ledger``: whether a message is missing."""

from fleetlane.cli.options.selection import SinceOption
from fleetlane.cli.options.stage import PlatformOptions
from fleetlane.cli.output.fleet_tables import FormatOptions
from fleetlane.events.times import DAY_MS, now_ms
from operations.lake import lake_of
from operations.ledger.standing import standing_ledger


def ledger(*, since: SinceOption = None, formats: FormatOptions, where: PlatformOptions) -> None:
    """Show the standing ledger by hour of arrival, stream and lane, and name missing messages.

    Without --since it shows the last day. The job ``standing_ledger`` writes it once a minute.
    """
    asked_at_ms = now_ms()
    since_ms = asked_at_ms - DAY_MS if since is None else since
    with lake_of(where.platform()) as catalog:
        found = standing_ledger(catalog, since_ms=since_ms)
    formats.show(*found.shown(), asked_at_ms=asked_at_ms)
