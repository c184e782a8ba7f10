"""Malformed messages by firmware, and parse times by parser."""

from collections.abc import Sequence
from typing import Final

from operations.fleet.health import FirmwareHealth, ParserTime
from operations.report import tables
from operations.report.charts import Chart, bars_chart
from operations.report.figures import REPORT_DAYS, FleetFigures
from operations.report.palette import ASIDE, WATCH
from operations.report.sections import Section, ShownTable
from operations.report.wording import counted, micros, percent

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
    return Section(
        key="parsers",
        title="Parse times",
        answer=_parsers_answer(parsers[0]) if parsers else "No parser ran.",
        meaning=_PARSERS_MEANING,
        chart=_parsers_chart(parsers) if parsers else None,
        tables=(table,) if parsers else (),
    )


def _parsers_answer(slowest: ParserTime) -> str:
    return (
        f"{slowest.parser} is the slowest: p95 {micros(slowest.p95_us)}, "
        f"median {micros(slowest.p50_us)} per attempt."
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
