"""Messages by lag and by size, and the devices that are chronically late."""

from collections.abc import Sequence
from typing import Final

from operations.fleet.fleet import Bin
from operations.fleet.lateness import LATE_MESSAGES_MIN, LATE_SHARE_MIN, is_late
from operations.report import tables
from operations.report.charts import Chart, bars_chart
from operations.report.figures import REPORT_DAYS, FleetFigures
from operations.report.palette import GOOD, WATCH
from operations.report.sections import Section, ShownTable
from operations.report.tables import lag_label, size_label
from operations.report.wording import counted, number, percent, size

_LATE_MEANING: Final = (
    f"Messages of {REPORT_DAYS} days by lag: arrival minus the end of the data, which the device "
    "states by its own clock. Each bar begins where the one above ends; orange is over an hour. "
    f"A device is chronically late if it sent {LATE_MESSAGES_MIN} or more such messages, of which "
    f"{percent(LATE_SHARE_MIN, 1)} or more are over an hour late."
)
_SIZES_MEANING: Final = (
    f"Messages of {REPORT_DAYS} days by the size of their body as sent. Each bar begins where the "
    "one above ends. The compression ratio is the decompressed size over the size as sent."
)


def late_section(figures: FleetFigures) -> Section:
    dated, late = figures.with_end_time, figures.over_an_hour_late
    are = "device is" if len(figures.late) == 1 else "devices are"
    answer = (
        f"{percent(late, dated)} of {counted(dated, 'message')} arrived more than an hour after "
        f"the end of their data; {number(len(figures.late))} {are} chronically late."
    )
    devices = tables.LATE_DEVICES.of(figures.late)
    shown = [ShownTable(table=devices, command="fleetlane fleet late")] if figures.late else []
    shown.append(ShownTable(table=tables.lags(figures.lags)))
    return Section(
        key="late",
        title="Late messages",
        answer=answer if dated else "No message states its data's end time.",
        meaning=_LATE_MEANING,
        chart=_lags_chart(figures.lags) if dated else None,
        tables=tuple(shown) if dated else (),
    )


def _lags_chart(lags: Sequence[Bin]) -> Chart:
    labels = [lag_label(one) for one in lags]
    colours = [(WATCH if is_late(one) else GOOD).light for one in lags]
    return _histogram(lags, labels, colours, by="lag")


def sizes_section(figures: FleetFigures) -> Section:
    sizes, bins = figures.sizes, figures.size_bins
    answer = (
        f"Median {size(sizes.p50)}, p95 {size(sizes.p95)}; the largest of "
        f"{counted(sizes.count, 'message')} has {size(sizes.max)}. "
        f"Together they are {size(sizes.total)}."
    )
    compression = tables.COMPRESSION.of(figures.compression)
    shown = (
        ShownTable(table=tables.size_bins(bins)),
        ShownTable(table=compression, command="fleetlane fleet sizes"),
    )
    labels = [size_label(one) for one in bins]
    return Section(
        key="sizes",
        title="Message sizes",
        answer=answer if sizes.count else "There are no messages.",
        meaning=_SIZES_MEANING,
        chart=_histogram(bins, labels, [GOOD.light] * len(bins), by="size")
        if sizes.count
        else None,
        tables=shown if sizes.count else (),
    )


def _histogram(
    bins: Sequence[Bin], labels: Sequence[str], colours: Sequence[str], *, by: str
) -> Chart:
    messages = sum(one.messages for one in bins)
    rows = [
        {
            "label": label,
            "value": one.messages,
            "words": percent(one.messages, messages),
            "colour": colour,
        }
        for one, label, colour in zip(bins, labels, colours, strict=True)
    ]
    most = max(rows, key=lambda row: int(str(row["value"])))
    alt = f"Bar chart of messages by {by}. The longest bar is “{most['label']}”: {most['words']}."
    return bars_chart(rows, title="messages", alt=alt)
