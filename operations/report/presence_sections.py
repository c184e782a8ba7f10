"""Which devices report, by window and by day; and which are silent."""

from typing import Final

from operations.report import tables
from operations.report.charts import ASIDE, GOOD, Chart, Colour, days_chart
from operations.report.figures import REPORT_DAYS, FleetFigures
from operations.report.sections import Section, ShownTable
from operations.report.wording import counted, number

_DIRECT: Final = "sent directly"
_RELAYED: Final = "only through a gateway"
_KINDS: Final[dict[str, Colour]] = {_DIRECT: GOOD, _RELAYED: ASIDE}
_COVERAGE_MEANING: Final = (
    "Registered devices by day (UTC); the scale reaches up to the number of registered devices. "
    "The first and last days are incomplete. Relayed messages do not prove that the device is "
    "alive; they are counted separately."
)
_SILENT_MEANING: Final = (
    f"Registered devices that sent no message directly for {REPORT_DAYS} days; the last to fall "
    "silent come first. Revoked devices, and those registered within these days, are left out."
)


def coverage_section(figures: FleetFigures) -> Section:
    by_day = tables.COVERAGE_BY_DAY.of(figures.by_day)
    return Section(
        key="coverage",
        title="Reporting devices",
        answer=_coverage_answer(figures),
        meaning=_COVERAGE_MEANING,
        chart=_days(figures) if figures.by_day else None,
        tables=(
            ShownTable(table=tables.COVERAGE.of(figures.coverage), is_open=True),
            ShownTable(table=by_day, rows_max=len(figures.by_day)),
        ),
        is_wide=True,
    )


def _coverage_answer(figures: FleetFigures) -> str:
    day, week = figures.coverage[0], figures.coverage[-1]
    answer = (
        f"{number(day.reported)} of {counted(day.registered, 'registered device')} sent messages "
        f"directly in the last 24 hours, {number(week.reported)} in {week.days} days; "
        f"{number(week.through_gateway)} more reported only through a gateway."
    )
    if not week.unregistered:
        return answer
    return f"{answer} Unregistered or revoked senders: {number(week.unregistered)}."


def _days(figures: FleetFigures) -> Chart:
    rows = [
        {"day": f"{one.day.day} {one.day:%b}", "kind": kind, "devices": devices, "place": place}
        for one in figures.by_day
        for place, (kind, devices) in enumerate(
            ((_DIRECT, one.reported), (_RELAYED, one.through_gateway))
        )
    ]
    last = figures.by_day[-1]
    most = max(one.reported + one.through_gateway for one in figures.by_day)
    alt = (
        f"Bar chart of devices that reported on each of {counted(len(figures.by_day), 'day')}, up "
        f"to {number(most)} a day; {number(last.reported)} on {last.day.day} {last.day:%B}."
    )
    return days_chart(rows, colours=_KINDS, alt=alt, top=max(figures.registered, most, 1))


def silent_section(figures: FleetFigures) -> Section:
    answer = f"No device that was registered {REPORT_DAYS} or more days ago is silent."
    if figures.silent:
        answer = (
            f"{counted(len(figures.silent), 'device')}: {number(figures.fell_silent)} fell silent, "
            f"{number(figures.never_reported)} never sent a message directly."
        )
    title = f"Silent for {REPORT_DAYS} days or more"  # landmarks need names of their own
    table = tables.devices(
        figures.silent, name="silent", title=title, asked_at_ms=figures.asked_at_ms
    )
    shown = ShownTable(table=table, command="fleetlane fleet silent", is_open=True)
    return Section(
        key="silent",
        title="Silent devices",
        answer=answer,
        meaning=_SILENT_MEANING,
        tables=(shown,) if figures.silent else (),
        is_wide=True,
    )
