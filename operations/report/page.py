"""The report's page: answers and their charts, rendered into the template, which has the words."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import jinja2

from operations.fleet import devices, traffic, wording
from operations.fleet.fleet import Fleet
from operations.fleet.questions import Row, Table
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

_HERE: Final = Path(__file__).parent
_BARS_MAX: Final = 10

REPORT_DAYS: Final = 7
"""The window of every answer except the coverage by day and when a device last reported."""

_ASKED: Final = (
    *(devices.SILENT, traffic.LATE, traffic.LAGS, traffic.FIRMWARE, traffic.SIZES),
    *(traffic.SIZE_BINS, traffic.COMPRESSION, traffic.PARSERS),
)

type Answers = Mapping[str, Table]
"""By the names of their questions."""


def write_report(fleet: Fleet, path: Path) -> None:
    """Ask all questions, and write the page atomically."""
    asked_at_ms, latest_ms = fleet.asked_at_ms, fleet.latest_ms()
    page = page_of(answers_of(fleet), asked_at_ms=asked_at_ms, latest_ms=latest_ms)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.new")
    beside.write_text(page, encoding="utf-8")
    beside.replace(path)


def answers_of(fleet: Fleet) -> Answers:
    """All that the page shows."""
    coverage, by_day = devices.coverage(fleet), fleet.ask(devices.COVERAGE_BY_DAY)
    found = (coverage, by_day, *(fleet.ask(one, days=REPORT_DAYS) for one in _ASKED))
    return {one.name: one for one in found}


def page_of(answers: Answers, *, asked_at_ms: int, latest_ms: int | None) -> str:
    """The whole report as one HTML document that loads nothing and runs nothing.

    ``latest_ms`` is the arrival of the latest message in the lake; ``None`` if it is empty.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.tests["late"] = traffic.is_late
    return environment.get_template("page.html.j2").render(
        answers=answers,
        asked_at_ms=asked_at_ms,
        latest_ms=latest_ms,
        charts=_charts(answers),
        colours=COLOURS,
        in_charts=IN_CHARTS,
        days=REPORT_DAYS,
        traffic=traffic,
        words=wording,
    )


def _charts(answers: Answers) -> Mapping[str, Chart | None]:
    """By the section's key; none where there is nothing to draw."""
    rows = {name: table.rows for name, table in answers.items()}
    lags, sizes = (
        (rows["lags"], traffic.lag_label, "lag"),
        (rows["bins"], traffic.size_label, "size"),
    )
    return {
        "coverage": _days(answers),
        "late": _histogram(*lags) if any(one["messages"] for one in rows["lags"]) else None,
        "firmware": _firmware(rows["firmware"])
        if any(one["malformed"] for one in rows["firmware"])
        else None,
        "sizes": _histogram(*sizes) if rows["sizes"][0]["count"] else None,
        "parsers": _parsers(rows["parsers"]) if rows["parsers"] else None,
    }


def _days(answers: Answers) -> Chart:
    direct, relayed = "sent directly", "only through a gateway"
    days = answers["by_day"].rows
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
    registered = answers["coverage"].rows[0]["registered"]
    return days_chart(rows, colours=colours, alt=alt, top=max(registered, most, 1))


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
