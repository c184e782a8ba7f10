"""Who is heard: coverage in three windows, and over the days."""

from typing import Final

from operations.report import columns
from operations.report.charts import Chart, days_chart
from operations.report.figures import FleetFigures
from operations.report.palette import ASIDE, GOOD, Colour
from operations.report.sections import Section, numbers_table
from operations.report.wording import counted, day_short, day_words, number

_ITSELF: Final = "heard itself"
_BY_GATEWAY: Final = "only through a gateway"
_KINDS: Final[dict[str, Colour]] = {_ITSELF: GOOD, _BY_GATEWAY: ASIDE}
_MEANING: Final = (
    "Registered devices by day (UTC); the scale reaches up to all that are registered. The first "
    "and the last day are parts of days. A message that a gateway brought says that the gateway "
    "lives, so it counts apart."
)


def heard_section(figures: FleetFigures) -> Section:
    return Section(
        key="heard",
        title="Who is heard",
        answer=_answer(figures),
        meaning=_MEANING,
        chart=_days(figures) if figures.by_day else None,
        tables=(
            numbers_table("Coverage", columns.COVERAGE, figures.coverage, is_open=True),
            numbers_table(
                "Devices heard by day",
                columns.DAYS_HEARD,
                figures.by_day,
                rows_max=len(figures.by_day),
            ),
        ),
        is_wide=True,
    )


def _answer(figures: FleetFigures) -> str:
    day, week = figures.coverage[0], figures.coverage[-1]
    answer = (
        f"{number(day.heard)} of {counted(day.registered, 'registered device')} sent something "
        f"themselves in the last 24 hours, {number(week.heard)} in {week.days} days; "
        f"{number(week.through_gateway)} more came through a gateway alone."
    )
    if not week.unregistered:
        return answer
    return f"{answer} Unregistered or revoked senders: {number(week.unregistered)}."


def _days(figures: FleetFigures) -> Chart:
    rows = [
        {"day": day_short(one.day), "kind": kind, "devices": devices, "place": place}
        for one in figures.by_day
        for place, (kind, devices) in enumerate(
            ((_ITSELF, one.heard), (_BY_GATEWAY, one.through_gateway))
        )
    ]
    last = figures.by_day[-1]
    most = max(one.heard + one.through_gateway for one in figures.by_day)
    alt = (
        f"Bar chart of devices heard on each of {counted(len(figures.by_day), 'day')}, up to "
        f"{number(most)} a day; {number(last.heard)} on {day_words(last.day)}."
    )
    return days_chart(rows, colours=_KINDS, alt=alt, top=max(figures.registered, most, 1))
