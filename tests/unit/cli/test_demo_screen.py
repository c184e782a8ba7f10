"""What ``fleetlane demo`` shows."""

import io
from pathlib import Path

from rich.console import Console

from fleetlane.cli.commands.platform.demo import (
    ProgressShown,
    commands_to_try,
    ledger_table,
    progress_line,
    progress_table,
)
from fleetlane.events.lanes import Lane
from local.demo.demo import DemoProgress
from operations.lanes.tally import LaneCounts
from operations.ledger.reconciliation import Ledger

PROGRESS = DemoProgress(
    planned=12_500,
    sent=12_000,
    waiting=None,
    landed={"kafka": 10_950, "spool": 50},
    lanes={
        Lane.FAST: LaneCounts(),
        Lane.STANDARD: LaneCounts(landed=10_900, parsed=9_000, diverted=3),
        Lane.BULK: LaneCounts(),
        Lane.SLOW: LaneCounts(landed=100, parked=7),
    },
    elapsed_s=9.7,
)
LEDGER = Ledger(
    accepted=10, parsed=6, empty=1, duplicate=1, parked=2, lost=0, invented=0, unanswered=3,
    seconds=42.5,
)  # fmt: skip


def printed(what: object) -> str:
    screen = io.StringIO()
    Console(file=screen, width=100).print(what)
    return screen.getvalue()


def test_a_line_tells_each_lane_that_saw_something() -> None:
    line = progress_line(PROGRESS)

    assert line == (
        "10 s: sent 12,000 of 12,500; accepted: 10,950 in kafka, 50 in spool"
        " | standard: landed 10,900, parsed 9,000, diverted 3"
        " | slow: landed 100, parked 7"
    )


def test_the_table_has_a_row_for_every_lane() -> None:
    text = printed(progress_table(PROGRESS))

    assert all(lane.value in text for lane in Lane)


def test_elsewhere_than_on_a_terminal_a_line_comes_every_few_seconds() -> None:
    now_s = iter([0.0, 0.0, 0.0, 1.0, 3.5, 3.5])
    screen = io.StringIO()
    shown = ProgressShown(Console(file=screen), monotonic=lambda: next(now_s))

    for _ in range(3):
        shown(PROGRESS)

    assert screen.getvalue().count("\n") == 2


def test_the_ledgers_table_shows_every_number() -> None:
    text = printed(ledger_table(LEDGER))

    names = ("accepted", "parsed", "empty", "duplicate", "parked", "lost", "invented", "unanswered")
    assert all(f"{name} " in text for name in names)


def test_the_commands_to_try_are_about_what_the_demo_left_behind() -> None:
    commands = commands_to_try(Path("build/demo/data"))

    assert all(command.endswith("--data build/demo/data") for command in commands)
