"""The page's sections: which devices report, and on messages: lag, size, malformed, parse times."""

from collections.abc import Callable, Sequence
from typing import Final

from operations.fleet.fleet import Bin
from operations.fleet.traffic import (
    LATE_MESSAGES_MIN,
    LATE_SHARE_MIN,
    FirmwareHealth,
    ParserTime,
    is_late,
)
from operations.report import tables
from operations.report.charts import ASIDE, GOOD, WATCH, Chart, Colour, bars_chart, days_chart
from operations.report.sections import REPORT_DAYS, FleetFigures, Section, ShownTable
from operations.report.wording import counted, micros, number, percent, size

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
        chart=_histogram(figures.lags, tables.lag_label, by="lag") if dated else None,
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
        chart=_histogram(bins, tables.size_label, by="size") if sizes.count else None,
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
