"""What ``fleetlane demo`` shows: live on a terminal, a line every few seconds elsewhere."""

import time
from collections.abc import Callable
from dataclasses import fields
from typing import Final, Self

from rich.console import Console
from rich.live import Live
from rich.table import Table

from local.demo.demo import DemoProgress
from operations.lanes.tally import LaneCounts
from operations.ledger.reconciliation import Ledger

_LINE_EVERY_S: Final = 3.0
_MEANINGS: Final = {
    "accepted": "202s that devices saw",
    "parsed": "to canonical events, all of them there",
    "empty": "to no event, as their parser says",
    "parked": "with a reason, bytes untouched",
    "duplicate": "202s for a message that was there already",
    "unanswered": "landed, though the device saw no 202",
    "lost": "accepted, and not to be found",
    "invented": "found, and never sent",
}


class ProgressShown:
    """Shows each progress it is called with. A context manager."""

    def __init__(
        self, console: Console, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._console, self._monotonic = console, monotonic
        self._live = Live(console=console, auto_refresh=False) if console.is_terminal else None
        self._next_line_s = monotonic()

    def __call__(self, progress: DemoProgress) -> None:
        if self._live is not None:
            self._live.start()  # where it was not
            self._live.update(progress_table(progress), refresh=True)
        elif self._monotonic() >= self._next_line_s:
            self._console.print(progress_line(progress), soft_wrap=True)
            self._next_line_s = self._monotonic() + _LINE_EVERY_S

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()


def progress_table(progress: DemoProgress) -> Table:
    """A row a lane, what the devices did above it."""
    table = Table(title=_summary(progress), title_justify="left", title_style="bold")
    table.add_column("lane")
    for name in _columns(progress):
        table.add_column(name, justify="right", min_width=8)
    for lane, counts in progress.lanes.items():
        table.add_row(lane.value, *(f"{number:,}" for number in _numbers(counts).values()))
    return table


def progress_line(progress: DemoProgress) -> str:
    """The same in one line; numbers that are 0 are left out."""
    parts = [_summary(progress)]
    for lane, counts in progress.lanes.items():
        shown = [f"{name} {number:,}" for name, number in _numbers(counts).items() if number]
        if shown:
            parts.append(f"{lane.value}: {', '.join(shown)}")
    return " | ".join(parts)


def ledger_table(ledger: Ledger) -> Table:
    """The ledger's numbers, and what each of them means."""
    table = Table(title=f"The ledger, after {ledger.seconds:.0f} s", title_justify="left")
    table.add_column("messages")
    table.add_column("", justify="right")
    table.add_column("")
    for name, meaning in _MEANINGS.items():
        number: int = getattr(ledger, name)
        is_bad = number > 0 and name in {"lost", "invented"}
        table.add_row(name, f"{number:,}", meaning, style="bold red" if is_bad else None)
    return table


def _summary(progress: DemoProgress) -> str:
    waiting = "" if progress.waiting is None else f", {progress.waiting:,} on their way"
    sent = f"sent {progress.sent:,} of {progress.planned:,}"
    places = ", ".join(f"{number:,} in {place}" for place, number in progress.landed.items())
    landed = f"; accepted: {places}" if places else ""
    return f"{progress.elapsed_s:.0f} s: {sent}{waiting}{landed}"


def _columns(progress: DemoProgress) -> list[str]:
    return list(_numbers(next(iter(progress.lanes.values()))))


def _numbers(counts: LaneCounts) -> dict[str, int]:
    return {field.name: getattr(counts, field.name) for field in fields(counts)}
