"""The report's page: its sections in order, rendered into the template and written to a file."""

from pathlib import Path
from typing import Final

import jinja2

from operations.fleet.fleet import Fleet
from operations.report.figures import FleetFigures, figures_of
from operations.report.headlines import headlines
from operations.report.health_sections import firmware_section, parsers_section
from operations.report.message_sections import late_section, sizes_section
from operations.report.palette import COLOURS, IN_CHARTS
from operations.report.presence_sections import coverage_section, silent_section
from operations.report.wording import moment

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
