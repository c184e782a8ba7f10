"""The report's page: headline numbers and sections, rendered into the template and written."""

from pathlib import Path
from typing import Final

import jinja2

from operations.fleet.devices import Coverage
from operations.fleet.fleet import Fleet
from operations.report.charts import COLOURS, IN_CHARTS
from operations.report.page_sections import (
    coverage_section,
    firmware_section,
    late_section,
    parsers_section,
    silent_section,
    sizes_section,
)
from operations.report.sections import REPORT_DAYS, FleetFigures, Headline, figures_of
from operations.report.wording import counted, moment, number, percent

_COVERAGE_LOW: Final = 0.9
_SILENT_MANY: Final = 0.05
_LATE_MANY: Final = 0.05
_MALFORMED_MANY: Final = 0.01


def headlines(figures: FleetFigures) -> tuple[Headline, ...]:
    week = figures.coverage[-1]
    many = _SILENT_MANY * figures.registered
    dated, late = figures.with_end_time, figures.over_an_hour_late
    malformed, messages = figures.malformed, figures.sizes.count
    return (
        _coverage(figures.coverage[0], "reported in 24 hours"),
        _coverage(week, f"reported in {week.days} days"),
        Headline(
            value=number(figures.fell_silent),
            label="fell silent",
            meaning=f"reported before, but not for {REPORT_DAYS} days",
            is_notable=figures.fell_silent > many,
        ),
        Headline(
            value=number(figures.never_reported),
            label="never reported",
            meaning=f"registered over {REPORT_DAYS} days ago, no message sent directly",
            is_notable=figures.never_reported > many,
        ),
        Headline(
            value=percent(late, dated),
            label="over an hour late",
            meaning=f"{number(late)} of the {counted(dated, 'message')} that state their data's "
            "end time",
            is_notable=late > _LATE_MANY * dated,
        ),
        Headline(
            value=percent(malformed, messages),
            label="malformed",
            meaning=f"{number(malformed)} of {counted(messages, 'message')}",
            is_notable=malformed > _MALFORMED_MANY * messages,
        ),
    )


def _coverage(coverage: Coverage, label: str) -> Headline:
    share = coverage.share
    registered = counted(coverage.registered, "registered device")
    return Headline(
        value=percent(coverage.reported, coverage.registered),
        label=label,
        meaning=f"{number(coverage.reported)} of {registered}",
        is_notable=share is not None and share < _COVERAGE_LOW,
    )


_HERE: Final = Path(__file__).parent
_SECTIONS: Final = (
    coverage_section,
    silent_section,
    late_section,
    firmware_section,
    sizes_section,
    parsers_section,
)


def write_report(fleet: Fleet, path: Path) -> None:
    """Run all queries, and write the page atomically."""
    page = page_of(figures_of(fleet))
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.new")
    beside.write_text(page, encoding="utf-8")
    beside.replace(path)


def page_of(figures: FleetFigures) -> str:
    """The whole report as one HTML document that loads nothing and runs nothing."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html.j2").render(
        asked_at=moment(figures.asked_at_ms),
        latest=None if figures.latest_ms is None else moment(figures.latest_ms),
        headlines=headlines(figures),
        sections=[section(figures) for section in _SECTIONS],
        colours=COLOURS,
        in_charts=IN_CHARTS,
    )
