"""The report's page: answers and their charts, rendered into the template, which has the words."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from fleetlane.events.times import DAY_MS
from operations.fleet import devices, traffic, wording
from operations.fleet.fleet import Fleet
from operations.fleet.questions import Row, Table
from operations.fleet.wording import counted, micros, number, percent
from operations.report.charts import Bar, Bars, Colour, Columns
from operations.templates import templates_in

_HERE: Final = Path(__file__).parent
_BARS_MAX: Final = 10

REPORT_DAYS: Final = 7
"""The window of every answer except the coverage by day and when a device last reported."""

LATE_SHARE_MAX: Final = 0.05
"""Of all messages, those that state no time among them: few that do say little of the fleet."""

MALFORMED_SHARE_MAX: Final = 0.01
_ALARM_SHARE_MIN: Final = 0.01
"""A firmware with a smaller share of all messages is not marked, whatever its own share is."""

_BY_HOUR_MS: Final = 2 * DAY_MS
"""A lake whose first message is no older is shown by the hour."""

_TOGETHER_MIN: Final = 5
"""So many devices that fall silent on one day may have one cause."""

_ASKED: Final = (
    *(devices.SILENT, traffic.LATE, traffic.LAGS, traffic.FIRMWARE, traffic.SIZES),
    *(traffic.SIZE_BINS, traffic.COMPRESSION, traffic.PARSERS),
)

type Answers = Mapping[str, Table]
"""By the names of their questions."""


def write_report(fleet: Fleet, path: Path) -> None:
    """Write the page atomically."""
    page = report_of(fleet)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.new")
    beside.write_text(page, encoding="utf-8")
    beside.replace(path)


def report_of(fleet: Fleet) -> str:
    """Ask all questions, and give the page."""
    _, latest_ms = fleet.arrivals_ms
    return page_of(answers_of(fleet), asked_at_ms=fleet.asked_at_ms, latest_ms=latest_ms)


def answers_of(fleet: Fleet) -> Answers:
    """All that the page shows; what it has ``over_time`` is by day or, of a young lake, by hour."""
    (first_ms, _), coverage = fleet.arrivals_ms, devices.coverage(fleet)
    age_ms = fleet.asked_at_ms if first_ms is None else fleet.asked_at_ms - first_ms
    shorter_ms = [0, *(days * DAY_MS for days in devices.COVERAGE_DAYS)]
    windows = zip(coverage.rows, shorter_ms, strict=False)
    coverage = coverage.of([row for row, shorter in windows if age_ms > shorter])
    found = (coverage, *(fleet.ask(one, days=REPORT_DAYS) for one in _ASKED))
    over_time = (
        fleet.ask(devices.COVERAGE_BY_HOUR, first_ms=first_ms)
        if age_ms < _BY_HOUR_MS
        else fleet.ask(devices.COVERAGE_BY_DAY)
    )
    return {"over_time": over_time, **{one.name: one for one in found}}


def page_of(answers: Answers, *, asked_at_ms: int, latest_ms: int | None) -> str:
    """The whole report as one HTML document that loads nothing and runs nothing.

    ``latest_ms`` is the arrival of the latest message in the lake; ``None`` if it is empty.
    """
    environment = templates_in(_HERE)
    environment.tests["late"] = traffic.is_late
    return environment.get_template("page.html.j2").render(
        answers=answers,
        asked_at_ms=asked_at_ms,
        latest_ms=latest_ms,
        charts=_charts(answers),
        days=REPORT_DAYS,
        links={},
        together=_fell_together(answers["silent"].rows),
        late_share_max=LATE_SHARE_MAX,
        malformed_share_max=MALFORMED_SHARE_MAX,
        traffic=traffic,
        words=wording,
    )


def _fell_together(silent: Sequence[Row]) -> tuple[str, int] | None:
    """The day on which most devices fell silent, and how many, if they are half of them or more."""
    last = [one["last_ms"] for one in silent if one["last_ms"] is not None]
    found = Counter(wording.moment_short(last_ms).split()[0] for last_ms in last).most_common(1)
    return next((one for one in found if max(_TOGETHER_MIN, len(last) / 2) <= one[1]), None)


def _charts(answers: Answers) -> Mapping[str, Bars | Columns | None]:
    """By the section's key; none where there is nothing to draw."""
    rows = {name: table.rows for name, table in answers.items()}

    def has_any(name: str, key: str) -> bool:
        return any(one[key] for one in rows[name])

    return {
        "coverage": _over_time(answers) if has_any("over_time", "messages") else None,
        "late": _histogram(rows["lags"], wording.lag_span, "lag"),
        "firmware": _firmware(rows["firmware"]) if has_any("firmware", "malformed") else None,
        "sizes": _histogram(rows["bins"], wording.size_span, "size"),
        "parsers": _parsers(rows["parsers"]) if rows["parsers"] else None,
    }


def _over_time(answers: Answers) -> Columns:
    rows, name = answers["over_time"].rows, answers["over_time"].name
    unit = "hour" if name == devices.COVERAGE_BY_HOUR.name else "day"
    most = max(one["reported"] + one["through_gateway"] for one in rows)
    alt = (
        f"Bar chart of devices that reported in each of {counted(len(rows), unit)}, up "
        f"to {number(most)} in one; {number(rows[-1]['reported'])} in the last."
    )
    return Columns(
        alt=alt,
        columns=[(_time_label(one), (one["reported"], one["through_gateway"])) for one in rows],
        kinds=(("sent directly", "good"), ("only through a gateway", "aside")),
        top=max(answers["coverage"].rows[0]["registered"], most, 1),
    )


def _time_label(row: Row) -> str:
    if "hour_ms" in row:
        return wording.moment_short(row["hour_ms"])[-5:]
    return f"{row['day'].day} {row['day']:%b}"


def _firmware(firmware: Sequence[Row]) -> Bars:
    whole = sum(one["messages"] for one in firmware)
    bars = [
        Bar(
            label=one["firmware"] or "not declared",
            value=one["malformed_share"],
            words=f"{percent(one['malformed'], one['messages'])} of {number(one['messages'])}",
            colour=_firmware_colour(one, whole),
        )
        for one in firmware[:_BARS_MAX]
    ]
    alt = f"Bar chart of the malformed share by firmware, the worst first: {bars[0].label}."
    return Bars(bars=bars, alt=alt)


def _firmware_colour(one: Row, whole: int) -> Colour:
    """A share of a handful of messages is no alarm."""
    if one["firmware"] is None:
        return "aside"
    is_bad = one["malformed"] > MALFORMED_SHARE_MAX * one["messages"]
    return "watch" if is_bad and one["messages"] >= _ALARM_SHARE_MIN * whole else "good"


def _parsers(parsers: Sequence[Row]) -> Bars:
    bars = [
        Bar(
            label=one["parser"],
            value=one["p95_us"],
            words=f"{micros(one['p50_us'])}, {micros(one['p95_us'])}",
            middle=one["p50_us"],
        )
        for one in parsers[:_BARS_MAX]
    ]
    alt = (
        f"Bar chart of the p50 and p95 time per attempt, by parser, the slowest first: "
        f"{bars[0].label}, {bars[0].words}."
    )
    return Bars(bars=bars, alt=alt)


def _histogram(
    bins: Sequence[Row], label: Callable[[int | None, int | None], str], by: str
) -> Bars | None:
    if not any(one["messages"] for one in bins):
        return None
    bars = [
        Bar(
            label=label(one["low"], one["high"]),
            value=one["messages"],
            words=percent(one["share"], 1),
            colour="watch" if by == "lag" and traffic.is_late(one) else "good",
        )
        for one in bins
    ]
    most = max(bars, key=lambda bar: bar.value)
    alt = f"Bar chart of messages by {by}. The longest bar is “{most.label}”: {most.words}."
    return Bars(bars=bars, alt=alt)
