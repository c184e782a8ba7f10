"""Sections on messages: by lag and by size, malformed ones by firmware, parse times by parser."""

from collections.abc import Callable, Sequence
from typing import Final

from operations.fleet.fleet import Bin
from operations.fleet.health import FirmwareHealth, ParserTime
from operations.fleet.lateness import LATE_MESSAGES_MIN, LATE_SHARE_MIN, is_late
from operations.report import tables
from operations.report.charts import ASIDE, GOOD, WATCH, Chart, bars_chart
from operations.report.figures import REPORT_DAYS, FleetFigures
from operations.report.sections import Section, ShownTable
from operations.report.tables import lag_label, size_label
from operations.report.wording import counted, micros, number, percent, size

_COMMAND: Final = "fleetlane fleet health"
_BARS_MAX: Final = 10
_FIRMWARE_MEANING: Final = (
    f"Malformed messages (%) of {REPORT_DAYS} days, by the firmware that the message states. A "
    "message that was replayed and then parsed is not counted."
)
_PARSERS_MEANING: Final = (
    f"Time per attempt, by parser and version, of {REPORT_DAYS} days. Bar: p95; tick: median."
)


def firmware_section(figures: FleetFigures) -> Section:
    malformed = figures.malformed
    table = ShownTable(table=tables.FIRMWARE.of(figures.firmware), command=_COMMAND)
    return Section(
        key="firmware",
        title="Malformed messages",
        answer=_firmware_answer(figures) if malformed else "No message is malformed.",
        meaning=_FIRMWARE_MEANING,
        chart=_firmware_chart(figures.firmware) if malformed else None,
        tables=(table,) if figures.firmware else (),
    )


def _firmware_answer(figures: FleetFigures) -> str:
    worst = figures.firmware[0]
    whose = "firmware not declared" if worst.firmware is None else f"firmware {worst.firmware}"
    return (
        f"{counted(figures.malformed, 'message is', 'messages are')} malformed; {whose} has the "
        f"largest share, {percent(worst.malformed, worst.messages)}."
    )


def _firmware_chart(firmware: Sequence[FirmwareHealth]) -> Chart:
    rows = [
        {
            "label": one.firmware or "not declared",
            "value": 100 * one.malformed_share,
            "words": percent(one.malformed, one.messages),
            "colour": (WATCH if one.firmware else ASIDE).light,
        }
        for one in firmware[:_BARS_MAX]
    ]
    alt = f"Bar chart of the malformed share by firmware, the worst first: {rows[0]['label']}."
    return bars_chart(rows, title="malformed (%)", alt=alt)


def parsers_section(figures: FleetFigures) -> Section:
    parsers = figures.parsers
    table = ShownTable(table=tables.PARSERS.of(parsers), command=_COMMAND)
    answer = "No parser ran."
    if parsers:
        answer = (
            f"{parsers[0].parser} is the slowest: p95 {micros(parsers[0].p95_us)}, "
            f"median {micros(parsers[0].p50_us)} per attempt."
        )
    return Section(
        key="parsers",
        title="Parse times",
        answer=answer,
        meaning=_PARSERS_MEANING,
        chart=_parsers_chart(parsers) if parsers else None,
        tables=(table,) if parsers else (),
    )


def _parsers_chart(parsers: Sequence[ParserTime]) -> Chart:
    rows = [
        {
            "label": one.parser,
            "middle": one.p50_us / 1_000,
            "value": one.p95_us / 1_000,
            "words": micros(one.p95_us),
        }
        for one in parsers[:_BARS_MAX]
    ]
    alt = (
        f"Bar chart of the p95 time per attempt, by parser, the slowest first: "
        f"{parsers[0].parser}, {micros(parsers[0].p95_us)}."
    )
    return bars_chart(rows, title="milliseconds per attempt", alt=alt)


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
        chart=_histogram(figures.lags, lag_label, by="lag") if dated else None,
        tables=tuple(shown) if dated else (),
    )


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
    return Section(
        key="sizes",
        title="Message sizes",
        answer=answer if sizes.count else "There are no messages.",
        meaning=_SIZES_MEANING,
        chart=_histogram(bins, size_label, by="size") if sizes.count else None,
        tables=shown if sizes.count else (),
    )


def _histogram(bins: Sequence[Bin], label: Callable[[Bin], str], *, by: str) -> Chart:
    messages = sum(one.messages for one in bins)
    rows = [
        {
            "label": label(one),
            "value": one.messages,
            "words": percent(one.messages, messages),
            "colour": (WATCH if by == "lag" and is_late(one) else GOOD).light,
        }
        for one in bins
    ]
    most = max(rows, key=lambda row: int(str(row["value"])))
    alt = f"Bar chart of messages by {by}. The longest bar is “{most['label']}”: {most['words']}."
    return bars_chart(rows, title="messages", alt=alt)
