"""The report's page: figures and their charts, rendered into the template, which has the words."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import jinja2

from operations.fleet import traffic, wording
from operations.fleet.fleet import Fleet
from operations.fleet.questions import Row
from operations.fleet.wording import counted, micros, number, percent
from operations.report.charts import (
    ASIDE,
    COLOURS,
    GOOD,
    IN_CHARTS,
    WATCH,
    Chart,
    bars_chart,
    days_chart,
)
from operations.report.figures import REPORT_DAYS, FleetFigures, figures_of

_HERE: Final = Path(__file__).parent
_BARS_MAX: Final = 10


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
        figures=figures,
        charts=_charts(figures),
        colours=COLOURS,
        in_charts=IN_CHARTS,
        days=REPORT_DAYS,
        traffic=traffic,
        words=wording,
    )


def _charts(figures: FleetFigures) -> Mapping[str, Chart | None]:
    """By the section's key; none where there is nothing to draw."""
    rows = {name: table.rows for name, table in figures.answers.items()}
    lags, sizes = (
        (rows["lags"], traffic.lag_label, "lag"),
        (rows["bins"], traffic.size_label, "size"),
    )
    return {
        "coverage": _days(figures) if rows["by_day"] else None,
        "late": _histogram(*lags) if figures.with_end_time else None,
        "firmware": _firmware(rows["firmware"]) if figures.malformed else None,
        "sizes": _histogram(*sizes) if rows["sizes"][0]["count"] else None,
        "parsers": _parsers(rows["parsers"]) if rows["parsers"] else None,
    }


def _days(figures: FleetFigures) -> Chart:
    direct, relayed = "sent directly", "only through a gateway"
    days = figures.answers["by_day"].rows
    rows = [
        {"day": f"{one['day'].day} {one['day']:%b}", "kind": kind, "devices": devices, "place": at}
        for one in days
        for at, (kind, devices) in enumerate(
            ((direct, one["reported"]), (relayed, one["through_gateway"]))
        )
    ]
    last, last_day = days[-1], days[-1]["day"]
    most = max(one["reported"] + one["through_gateway"] for one in days)
    alt = (
        f"Bar chart of devices that reported on each of {counted(len(days), 'day')}, up "
        f"to {number(most)} a day; {number(last['reported'])} on {last_day.day} {last_day:%B}."
    )
    colours = {direct: GOOD, relayed: ASIDE}
    return days_chart(rows, colours=colours, alt=alt, top=max(figures.registered, most, 1))


def _firmware(firmware: Sequence[Row]) -> Chart:
    rows = [
        {
            "label": one["firmware"] or "not declared",
            "value": 100 * one["malformed_share"],
            "words": percent(one["malformed"], one["messages"]),
            "colour": (WATCH if one["firmware"] else ASIDE).light,
        }
        for one in firmware[:_BARS_MAX]
    ]
    alt = f"Bar chart of the malformed share by firmware, the worst first: {rows[0]['label']}."
    return bars_chart(rows, title="malformed (%)", alt=alt)


def _parsers(parsers: Sequence[Row]) -> Chart:
    rows = [
        {
            "label": one["parser"],
            "middle": one["p50_us"] / 1_000,
            "value": one["p95_us"] / 1_000,
            "words": micros(one["p95_us"]),
        }
        for one in parsers[:_BARS_MAX]
    ]
    alt = (
        f"Bar chart of the p95 time per attempt, by parser, the slowest first: "
        f"{rows[0]['label']}, {rows[0]['words']}."
    )
    return bars_chart(rows, title="milliseconds per attempt", alt=alt)


def _histogram(bins: Sequence[Row], label: Callable[[Row], str], by: str) -> Chart:
    rows = [
        {
            "label": label(one),
            "value": one["messages"],
            "words": percent(one["share"], 1),
            "colour": (WATCH if by == "lag" and traffic.is_late(one) else GOOD).light,
        }
        for one in bins
    ]
    most = max(rows, key=lambda row: int(str(row["value"])))
    alt = f"Bar chart of messages by {by}. The longest bar is “{most['label']}”: {most['words']}."
    return bars_chart(rows, title="messages", alt=alt)
