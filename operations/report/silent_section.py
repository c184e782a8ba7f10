"""Who is silent: a table, the ones that fell silent last above."""

from typing import Final

from operations.fleet.answers import DeviceSeen
from operations.report import columns
from operations.report.figures import REPORT_DAYS, FleetFigures
from operations.report.sections import NumbersTable, Section, numbers_table
from operations.report.wording import counted, number

_MEANING: Final = (
    f"Registered devices that sent nothing themselves for {REPORT_DAYS} days; who fell silent last "
    "comes first. Revoked devices are left out, and those registered within these days."
)


def silent_section(figures: FleetFigures) -> Section:
    return Section(
        key="silent",
        title="Who is silent",
        answer=_answer(figures.silent),
        meaning=_MEANING,
        tables=(_table(figures),) if figures.silent else (),
        is_wide=True,
    )


def _answer(silent: tuple[DeviceSeen, ...]) -> str:
    if not silent:
        return f"No device that was registered {REPORT_DAYS} days ago or before is silent."
    never = sum(device.last_ms is None for device in silent)
    return (
        f"{counted(len(silent), 'device')}: {number(len(silent) - never)} fell silent, "
        f"{number(never)} never sent anything themselves."
    )


def _table(figures: FleetFigures) -> NumbersTable:
    return numbers_table(
        "Silent devices",
        columns.seen(figures.asked_at_ms),
        figures.silent,
        command="fleetlane fleet silent",
        figures_from=3,
        is_open=True,
    )
