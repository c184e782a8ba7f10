"""How long parsing takes, by parser."""

from typing import Final

from operations.fleet.answers import ParserTime
from operations.report import columns
from operations.report.charts import Chart, ranges_chart
from operations.report.figures import REPORT_DAYS, FleetFigures
from operations.report.sections import NumbersTable, Section, numbers_table
from operations.report.wording import micros, percent

_BARS_MAX: Final = 10
_MEANING: Final = (
    f"Time an attempt, by parser and version, of {REPORT_DAYS} days: the bar ends where "
    f"{percent(0.95, 1)} are done, the stroke stands where half are."
)


def parsers_section(figures: FleetFigures) -> Section:
    parsers = figures.parsers
    return Section(
        key="parsers",
        title="How long parsing takes",
        answer=_answer(parsers[0]) if parsers else "No parser was asked.",
        meaning=_MEANING,
        chart=_chart(parsers) if parsers else None,
        tables=(_table(parsers),) if parsers else (),
    )


def _answer(slowest: ParserTime) -> str:
    return (
        f"{slowest.parser} takes longest: {percent(0.95, 1)} of its attempts end within "
        f"{micros(slowest.p95_us)}, half within {micros(slowest.p50_us)}."
    )


def _chart(parsers: tuple[ParserTime, ...]) -> Chart:
    rows = [
        {
            "label": one.parser,
            "middle": one.p50_us / 1_000,
            "value": one.p95_us / 1_000,
            "words": micros(one.p95_us),
        }
        for one in parsers[:_BARS_MAX]
    ]
    alt = (
        f"Bar chart of the time within which {percent(0.95, 1)} of attempts end, by parser, the "
        f"slowest first: {parsers[0].parser}, {micros(parsers[0].p95_us)}."
    )
    return ranges_chart(rows, title="milliseconds an attempt", alt=alt)


def _table(parsers: tuple[ParserTime, ...]) -> NumbersTable:
    command = "fleetlane fleet health"
    return numbers_table("Parse time by parser", columns.PARSERS, parsers, command=command)
