"""What is malformed, by firmware."""

from typing import Final

from operations.fleet.answers import FirmwareHealth
from operations.report import columns
from operations.report.charts import Chart, bars_chart
from operations.report.figures import REPORT_DAYS, FleetFigures
from operations.report.palette import ASIDE, WATCH
from operations.report.sections import NumbersTable, Section, numbers_table
from operations.report.wording import counted, percent

_BARS_MAX: Final = 10
_MEANING: Final = (
    f"Malformed messages in a hundred, by the firmware that the message declared, of {REPORT_DAYS} "
    "days. A message that was replayed and then parsed no longer counts."
)


def firmware_section(figures: FleetFigures) -> Section:
    malformed = sum(one.malformed for one in figures.firmware)
    return Section(
        key="firmware",
        title="What is malformed",
        answer=_answer(figures.firmware) if malformed else "No message is malformed.",
        meaning=_MEANING,
        chart=_chart(figures.firmware) if malformed else None,
        tables=(_table(figures.firmware),) if figures.firmware else (),
    )


def _answer(firmware: tuple[FirmwareHealth, ...]) -> str:
    worst = firmware[0]
    whose = "firmware not declared" if worst.firmware is None else f"firmware {worst.firmware}"
    malformed = sum(one.malformed for one in firmware)
    return (
        f"{counted(malformed, 'message is', 'messages are')} malformed; {whose} has the largest "
        f"share, {percent(worst.malformed, worst.messages)}."
    )


def _chart(firmware: tuple[FirmwareHealth, ...]) -> Chart:
    rows = [
        {
            "label": _name(one),
            "value": 100 * one.malformed_share,
            "words": percent(one.malformed, one.messages),
            "colour": (WATCH if one.firmware else ASIDE).light,
        }
        for one in firmware[:_BARS_MAX]
    ]
    alt = f"Bar chart of the malformed share by firmware, the worst first: {_name(firmware[0])}."
    return bars_chart(rows, title="malformed messages in a hundred", alt=alt)


def _table(firmware: tuple[FirmwareHealth, ...]) -> NumbersTable:
    command = "fleetlane fleet health"
    return numbers_table("Malformed by firmware", columns.FIRMWARE, firmware, command=command)


def _name(firmware: FirmwareHealth) -> str:
    return firmware.firmware or "not declared"
