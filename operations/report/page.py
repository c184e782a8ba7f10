"""The page: the sections in their order, put into the template."""

from functools import cache
from pathlib import Path
from typing import Final

import jinja2

from operations.report.coverage_section import heard_section
from operations.report.figures import FleetFigures
from operations.report.firmware_section import firmware_section
from operations.report.headlines import headlines
from operations.report.lateness_section import late_section
from operations.report.palette import COLOURS, IN_CHARTS
from operations.report.parsers_section import parsers_section
from operations.report.silent_section import silent_section
from operations.report.sizes_section import sizes_section
from operations.report.wording import moment

_HERE: Final = Path(__file__).parent
_SECTIONS: Final = (
    heard_section,
    silent_section,
    late_section,
    firmware_section,
    sizes_section,
    parsers_section,
)


def page_of(figures: FleetFigures) -> str:
    """The whole report as one HTML document that loads nothing and runs nothing."""
    return _template().render(
        asked_at=moment(figures.asked_at_ms),
        latest=None if figures.latest_ms is None else moment(figures.latest_ms),
        headlines=headlines(figures),
        sections=[section(figures) for section in _SECTIONS],
        colours=COLOURS,
        in_charts=IN_CHARTS,
    )


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html.j2")
