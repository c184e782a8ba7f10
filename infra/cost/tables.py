"""The model's answers as Markdown."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from fleetlane.events.lanes import LANE_LIMITS, Lane
from infra.cost.bill import MILLION, Bill, bill, receipt_usd, savings, store_lines
from infra.cost.edge import break_even_messages_per_s, edge_lines
from infra.cost.figures import Figures
from infra.cost.jobs import batches_a_month, checkpoints_usd, worker_hour_usd
from infra.cost.scenario import (
    HOURS_A_MONTH,
    INLINE_KIB_MAX,
    LARGE_LANES,
    Scenario,
    batched,
    with_engine,
)
from infra.stages import Engine

SIZES_KIB: Final = (0.25, 1, 10, 100, 1_000, 4_000)
READINGS: Final = (1, 10, 60)
TRIGGERS_MS: Final = (0, 1_000, 10_000, 60_000)

_ENGINES: Final = {Engine.GLUE: "Glue", Engine.EMR: "EMR Serverless"}
_NO_VALUE: Final = "-"


def report(scenario: Scenario, figures: Figures) -> str:
    month = bill(scenario, figures)
    parts = (
        _scenario(scenario),
        "### A month",
        _table(("component", "fixed", "grows with messages", "together"), _month(month)),
        "### A million messages, by lane, engine and size of the body",
        _table(("lane", "engine", *_size_names()), _by_lane(scenario, figures)),
        "### A million messages more: what grows, by size of the body",
        _table(("component", *_size_names()), _growing(scenario, figures)),
        "### Savings, in USD a month",
        _table(("saving", "now", "then", "saves"), _savings(scenario, figures)),
        "### A million readings, by how many a message carries",
        _table(("readings a message", "all costs", "what grows"), _batches(scenario, figures)),
        "### Trigger intervals, in USD a month and query that always has messages",
        _table(
            ("trigger", "checkpoints", "checkpoints without async progress"), _triggers(figures)
        ),
        "### Rates worth knowing",
        _rates(scenario, figures),
    )
    return "\n\n".join(parts)


def _scenario(scenario: Scenario) -> str:
    stage = scenario.stage
    messages_a_day = sum(one.messages_a_day for one in scenario.traffic.values())
    lanes = "; ".join(
        f"{lane} {100 * one.messages_a_day / messages_a_day:g}% at {one.body_kib:g} KiB"
        for lane, one in scenario.traffic.items()
    )
    workers = f"{', '.join(map(str, scenario.workers.values()))} and {stage.lake_workers}"
    return (
        f"Stage {stage.name} in {stage.region}: {messages_a_day:,.0f} messages a day ({lanes}), "
        f"the peak {scenario.peak:g} times the mean, {scenario.authorizer_hits:.0%} of requests "
        f"answered by the authorizer's cache. {stage.broker_count} brokers {stage.broker_type} "
        f"with {stage.broker_storage_gib:,} GiB each, {workers} workers in the five "
        f"applications, on {_ENGINES[stage.engine]}. In USD."
    )


def _month(month: Bill) -> Iterator[Sequence[str]]:
    for component in dict.fromkeys(line.component for line in month.lines):
        line = month.of_component(component)
        yield component, _usd(line.fixed_usd), _usd(line.growing_usd), _usd(line.usd)
    yield "**all**", _usd(month.fixed_usd), _usd(month.growing_usd), _usd(month.usd)


def _by_lane(scenario: Scenario, figures: Figures) -> Iterator[Sequence[str]]:
    for lane in scenario.traffic:
        for engine, name in _ENGINES.items():
            ours = with_engine(scenario, engine)
            yield lane, name, *(_lane_cell(ours, lane, kib, figures) for kib in SIZES_KIB)


def _lane_cell(scenario: Scenario, lane: Lane, kib: float, figures: Figures) -> str:
    if kib > INLINE_KIB_MAX and lane not in LARGE_LANES:
        return _NO_VALUE
    month = bill(scenario.with_body(lane, kib), figures)
    return _usd(month.lane_usd_a_million(lane))


def _growing(scenario: Scenario, figures: Figures) -> Iterator[Sequence[str]]:
    """Of a standard message, or of one in the bulk lane where it is too large; disks full."""
    columns = []
    for kib in SIZES_KIB:
        lane = Lane.BULK if kib > INLINE_KIB_MAX else Lane.STANDARD
        ours = replace(
            scenario.with_body(lane, kib), stage=replace(scenario.stage, broker_storage_gib=0)
        )
        lines = [*edge_lines(ours, figures), *store_lines(ours, figures)]
        millions = ours.traffic[lane].messages_a_month / MILLION
        columns.append(
            {one.component: one.growing_usd / millions for one in lines if one.lane is lane}
        )
    for component in columns[0]:
        yield component, *(_usd(column[component]) for column in columns)
    yield "**all**", *(_usd(sum(column.values())) for column in columns)


def _savings(scenario: Scenario, figures: Figures) -> Iterator[Sequence[str]]:
    for name, now_usd, then_usd in savings(scenario, figures):
        yield name, *map(_usd, (now_usd, then_usd, now_usd - then_usd))


def _batches(scenario: Scenario, figures: Figures) -> Iterator[Sequence[str]]:
    million_readings = scenario.messages_a_month / MILLION
    for readings in READINGS:
        month = bill(batched(scenario, readings), figures)
        a_million = (one / million_readings for one in (month.usd, month.growing_usd))
        yield str(readings), *map(_usd, a_million)


def _triggers(figures: Figures) -> Iterator[Sequence[str]]:
    for trigger_ms in TRIGGERS_MS:
        usd = (checkpoints_usd(trigger_ms, figures, is_async_at_0=one) for one in (True, False))
        yield f"{trigger_ms / 1000:g} s", *map(_usd, usd)


def _rates(scenario: Scenario, figures: Figures) -> str:
    even_per_s = break_even_messages_per_s(scenario, figures)
    bulk_per_s, slow_per_s = (
        scenario.batch_messages_max(lane) * 1000 / LANE_LIMITS[lane].trigger_ms
        for lane in (Lane.BULK, Lane.SLOW)
    )
    puts = figures.measure("puts_per_checkpoint") * batches_a_month(0, figures)
    workers = [
        f"{_usd(worker_hour_usd(engine, figures) * HOURS_A_MONTH)} {when}on {name}"
        for (engine, name), when in zip(_ENGINES.items(), ("a month ", ""), strict=True)
    ]
    return f"""\
- A self-hosted edge on Fargate is cheaper from a mean of {even_per_s:.0f} messages a second.
- A worker costs {", ".join(workers)}.
- A query at trigger 0 without async progress writes {puts / MILLION:.0f} million checkpoint files \
a month.
- A receipt costs {_usd(receipt_usd(figures) * MILLION)} a million messages.
- The bulk lane takes at most {bulk_per_s:,.0f} late messages a second, the slow lane \
{slow_per_s:.0f}; both grow with their workers."""


def _size_names() -> tuple[str, ...]:
    return tuple(f"{kib:,g} KiB" for kib in SIZES_KIB)


def _usd(amount: float) -> str:
    return f"{amount + 0.0:,.2f}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Text to the left, numbers to the right."""
    rows = [tuple(row) for row in rows]
    is_number = [
        all(row[at][-1].isdigit() or row[at] == _NO_VALUE for row in rows)
        for at in range(len(head))
    ]
    rule = ["---:" if number else "---" for number in is_number]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))
