"""Puts what fleets of three sizes need into docs/scale.md: `.venv/bin/python -m docs.scale`."""  # noqa: INP001

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from docs.tables import tables_put
from fleetlane.events.lanes import Lane
from infra.cost.backend import brokers_needed, workers_needed
from infra.cost.bill import bill, message_usd
from infra.cost.scenario import (
    DAY_S,
    LARGE_LANES,
    BadScenarioError,
    Scenario,
    figures_of_files,
    usual_traffic,
)
from infra.stages import settings_of, stage_from

DOCUMENT: Final = Path(__file__).with_suffix(".md")
BEGIN: Final = "<!-- what `python -m docs.scale` writes: begin -->"
END: Final = "<!-- what `python -m docs.scale` writes: end -->"
with_tables: Final = partial(tables_put, begin=BEGIN, end=END, name="docs/scale.md")
"""The document with these tables between its markers."""

FLEETS: Final = (100_000, 1_000_000, 100_000_000)
EVERY_S: Final = 300
BODY_KIB: Final = 1.0
LARGE_BODY_KIB: Final = 512.0
STAGE: Final = stage_from("prod", settings_of("prod"))
FIGURES: Final = figures_of_files()

API_QUOTA_PER_S: Final = 10_000
LAMBDA_QUOTA: Final = 1_000
TABLE_READS_PER_S: Final = 40_000
"""AWS's defaults of an account and region, which it raises on request: of requests to all its APIs,
of functions' runs at once, of reads of an on-demand table."""

type Need = Callable[[Scenario], float]


def fleet_of(devices: float) -> Scenario:
    """Each device sends every ``EVERY_S``: by then API Gateway has forgotten its token's answer."""
    a_day = devices * DAY_S / EVERY_S
    traffic = usual_traffic(a_day, body_kib=BODY_KIB, bulk_body_kib=LARGE_BODY_KIB)
    return Scenario(stage=STAGE, traffic=traffic, figures=FIGURES, authorizer_hits=0.0)


def peak_per_s(at: Scenario) -> float:
    return at.peak * sum(one.messages_per_s for one in at.traffic.values())


def at_once(at: Scenario, component: str, memory_mib: float, *, share: float = 1.0) -> float:
    """A function's runs at once at the peak, by the time that the bill has of it.

    It is called for a ``share`` of all messages.
    """
    runs = 0.0
    for lane, one in at.traffic.items():
        usd = message_usd(at, lane)[component] - share * at.usd("lambda_request")
        seconds = usd / at.usd("lambda_gb_second") * 1_024 / memory_mib
        runs += at.peak * one.messages_per_s * seconds
    return runs


def ingest_at_once(at: Scenario) -> float:
    return at_once(at, "Lambda: ingest", at.stage.ingest_memory_mib)


def authorizer_at_once(at: Scenario) -> float:
    memory_mib, misses = at.measure("authorizer_memory_mib"), 1 - at.authorizer_hits
    return at_once(at, "Lambda: authorizer", memory_mib, share=misses)


def payloads_per_s(at: Scenario) -> float:
    """PUTs of large bodies, as many GETs, and as many PUTs again of their copies."""
    return 3 * at.peak * sum(at.traffic[lane].messages_per_s for lane in LARGE_LANES)


def reads_per_s(at: Scenario) -> float:
    return (1 - at.authorizer_hits) * peak_per_s(at)


def standard_batch_share(at: Scenario) -> float:
    return at.peak * at.traffic[Lane.STANDARD].messages_per_s / at.messages_per_s_max(Lane.STANDARD)


def workers(at: Scenario) -> int:
    return sum(workers_needed(at, lane) for lane in Lane)


LIMITS: Final[Mapping[str, tuple[Need, float, str]]] = {
    "requests to the API": (peak_per_s, STAGE.requests_per_s, "`requests_per_s` of the stage"),
    "requests to all APIs": (peak_per_s, API_QUOTA_PER_S, "AWS's default of a region"),
    "ingest at once": (
        *(ingest_at_once, STAGE.ingest_concurrency or LAMBDA_QUOTA),
        "`ingest_concurrency` of the stage; beyond it devices get 429, and try again",
    ),
    "the authorizer at once": (
        *(authorizer_at_once, STAGE.authorizer_concurrency or LAMBDA_QUOTA),
        "`authorizer_concurrency` of the stage",
    ),
    "functions at once": (
        lambda at: ingest_at_once(at) + authorizer_at_once(at),
        LAMBDA_QUOTA,
        "AWS's default of a region",
    ),
    "reads of the registry": (reads_per_s, TABLE_READS_PER_S, "AWS's default of a table"),
    "brokers": (brokers_needed, STAGE.broker_count, "`broker_count` of the stage"),
    "workers of the standard lane": (
        lambda at: workers_needed(at, Lane.STANDARD),
        STAGE.standard_workers,
        "`standard_workers` of the stage",
    ),
    "messages of a standard batch": (
        *(standard_batch_share, 1),
        "100,000 a second (`events/lanes.toml`); beyond it the lane falls behind",
    ),
}


def breaks_at(need: Need, limit: float) -> int:
    """The smallest fleet that needs more, to three digits."""
    low, high = 1_000, 10**10
    while high / low > 1.0005:  # noqa: PLR2004 - closer than three digits
        middle = (low * high) ** 0.5
        try:
            is_over = need(fleet_of(middle)) > limit
        except BadScenarioError:
            is_over = True
        low, high = (low, round(middle)) if is_over else (round(middle), high)
    return int(float(f"{high:.3g}"))


def stages_for(devices: float) -> int:
    """So many that the peak of each is within the stage's own limit of requests."""
    per_s = fleet_of(1).peak * devices / EVERY_S
    return max(1, math.ceil(per_s / STAGE.requests_per_s))


def _needs(devices: int) -> Mapping[str, str]:
    stages = stages_for(devices)
    at, mean_per_s = fleet_of(devices / stages), devices / EVERY_S
    usd = stages * bill(at).usd
    return {
        "stages like prod": f"{stages:,}",
        "messages a second of all, mean and peak": (
            f"{mean_per_s:,.0f}, {at.peak * mean_per_s:,.0f}"
        ),
        "runs at once of a stage at the peak: ingest, authorizer": (
            f"{ingest_at_once(at):,.0f}, {authorizer_at_once(at):,.0f}"
        ),
        "reads of a stage's registry a second at the peak": f"{reads_per_s(at):,.0f}",
        "brokers of a stage": f"{brokers_needed(at)}, of {STAGE.broker_count}",
        "workers of a stage's four lanes, drivers included": (
            f"{workers(at)}, of {sum(STAGE.lane_workers.values())}"
        ),
        "requests to S3 a second for large bodies of a stage at the peak": (
            f"{payloads_per_s(at):,.0f}"
        ),
        "USD a month for all, the prices' tiers by stage": f"{usd:,.0f}",
        "USD a month for a thousand devices": f"{1_000 * usd / devices:,.2f}",
    }


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *others = ("| " + " | ".join(row) + " |" for row in rows)
    return "\n".join([head, "|---" * len(rows[0]) + "|", *others])


def report() -> str:
    columns = [_needs(devices) for devices in FLEETS]
    needs = [["", *(f"{devices:,} devices" for devices in FLEETS)]]
    needs += [[name, *(column[name] for column in columns)] for name in columns[0]]
    found = sorted((breaks_at(need, limit), name) for name, (need, limit, _) in LIMITS.items())
    breaks = [["what", "limit", "of", "reached by devices"]]
    breaks += [[one, f"{LIMITS[one][1]:,}", LIMITS[one][2], f"{at:,}"] for at, one in found]
    return f"{_table(needs)}\n\n### What breaks first\n\n{_table(breaks)}"


if __name__ == "__main__":
    DOCUMENT.write_text(with_tables(DOCUMENT.read_text(), report()))
