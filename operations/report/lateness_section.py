"""Who is late: messages by lag, and the devices that always are."""

from typing import Final

from operations.fleet.lateness import LATE_MESSAGES_MIN, LATE_SHARE_MIN
from operations.report import columns
from operations.report.bins import bars, lag_words, late_of, most_common
from operations.report.charts import Chart, bars_chart
from operations.report.figures import REPORT_DAYS, FleetFigures
from operations.report.sections import NumbersTable, Section, numbers_table
from operations.report.wording import counted, number, percent

_MEANING: Final = (
    f"Messages of {REPORT_DAYS} days by their lag: arrival less the end of the data, which the "
    "device declared by its own clock. Each bar begins where the one above ends; orange is over an "
    f"hour. Chronically late is a device with {LATE_MESSAGES_MIN} such messages or more, of which "
    f"{percent(LATE_SHARE_MIN, 1)} or more are over an hour late."
)


def late_section(figures: FleetFigures) -> Section:
    dated, late = late_of(figures.lags)
    are = "device is" if len(figures.late) == 1 else "devices are"
    answer = (
        f"{percent(late, dated)} of {counted(dated, 'message')} came more than an hour after the "
        f"end of their data; {number(len(figures.late))} {are} chronically late."
    )
    return Section(
        key="late",
        title="Who is late",
        answer=answer if dated else "No message said how old its data is.",
        meaning=_MEANING,
        chart=_chart(figures) if dated else None,
        tables=_tables(figures) if dated else (),
    )


def _chart(figures: FleetFigures) -> Chart:
    return bars_chart(
        bars(figures.lags, lag_words),
        title="messages",
        alt=f"Bar chart of messages by lag. {most_common(figures.lags, lag_words)}",
    )


def _tables(figures: FleetFigures) -> tuple[NumbersTable, ...]:
    devices = numbers_table(
        "Chronically late devices",
        columns.LATE,
        figures.late,
        command="fleetlane fleet late",
        figures_from=2,
    )
    as_columns = columns.bins("lag", lag_words, figures.lags)
    lags = numbers_table("Messages by lag", as_columns, figures.lags)
    return (devices, lags) if figures.late else (lags,)
