"""What the raw archive costs: rows and bodies in S3, for as long as its stage keeps them."""

from typing import Final

from fleetlane.events.lake.tables import BUCKETS
from fleetlane.events.lanes import Lane
from infra.cost.figures import Figures, Line
from infra.cost.scenario import DAYS_A_MONTH, GB, Scenario, Traffic

_KIB: Final = 1024


def archive_line(scenario: Scenario, lane: Lane, traffic: Traffic, figures: Figures) -> Line:
    """A row for each message and, where its body is by reference, one COPY and its storage."""
    days = scenario.stage.raw_archive_days
    if not days:
        return Line(component="S3: raw archive", lane=lane)
    body_kib = 0 if traffic.is_by_reference else traffic.body_kib
    row_kib = (body_kib + figures.measure("envelope_kib")) * figures.measure("archived_share")
    usd = _stored_usd(row_kib, days, figures)
    if traffic.is_by_reference:
        usd += figures.usd("s3_put")
        usd += _stored_usd(traffic.body_kib, scenario.stage.archived_body_days, figures)
    return Line(component="S3: raw archive", lane=lane, growing_usd=usd * traffic.messages_a_month)


def files_a_commit(scenario: Scenario) -> int:
    """How many a commit to the archive writes besides those of any table."""
    return BUCKETS if scenario.stage.raw_archive_days else 0


def _stored_usd(kib: float, days: float, figures: Figures) -> float:
    return figures.usd("s3_gb_month", kib * _KIB / GB * days / DAYS_A_MONTH)
