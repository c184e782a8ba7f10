"""What ``fleetlane demo`` shows."""

import io
from pathlib import Path

from rich.console import Console

from fleetlane.cli.commands.platform.demo import commands_to_try, ledger_table, progress_line
from local.demo.demo import DemoProgress
from operations.ledger.reconciliation import Ledger

PROGRESS = DemoProgress(
    planned=12_500,
    finished=12_000,
    landed={"kafka": 10_950, "spool": 50},
    waiting=None,
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


def test_a_line_says_how_far_the_fleet_is_and_where_messages_are_durable() -> None:
    line = progress_line(PROGRESS)

    assert line == "10 s: sent 12,000 of 12,500; accepted: 10,950 in kafka, 50 in spool"


def test_the_ledgers_table_shows_every_number() -> None:
    text = printed(ledger_table(LEDGER))

    names = ("accepted", "parsed", "empty", "duplicate", "parked", "lost", "invented", "unanswered")
    assert all(f"{name} " in text for name in names)


def test_the_commands_to_try_are_about_what_the_demo_left_behind() -> None:
    commands = commands_to_try(Path("build/demo/data"))

    assert all(command.endswith("--data build/demo/data") for command in commands)
