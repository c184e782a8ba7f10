"""For a person who waits: a count that grows, the steps of a start; and counts with their noun."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final

import typer
from rich.console import Console
from rich.status import Status

_SHOWN_EVERY: Final = 100
_INTERRUPTED: Final = 130


@contextmanager
def counted(what: str) -> Iterator[Callable[[int], None]]:
    """Give a function to report a growing count to, such as of "records read".

    It is shown on a terminal's standard error, and nowhere else.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status(what) as status:

        def show(count: int) -> None:
            if count % _SHOWN_EVERY == 0:
                status.update(f"{what}: {count}")

        yield show


@contextmanager
def effect_on_interrupt(effect: Callable[[], str]) -> Iterator[None]:
    """Where Ctrl-C ends what is within, say what has taken effect by then; the exit code is 130."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(f"interrupted: {effect()}", err=True)
        raise typer.Exit(_INTERRUPTED) from None


def number_of(count: int, noun: str) -> str:
    """``1 event``, ``2 events``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


class StepsShown(AbstractContextManager["StepsShown"]):
    """A spinner a step and its time on a terminal, a line elsewhere.

    The next step, or the end, finishes one.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status: Status | None = None
        self._title, self._began_s = "", 0.0

    def __call__(self, title: str) -> None:
        """Begin a step, such as "Kafka broker"."""
        self.finish()
        self._title, self._began_s = title, time.monotonic()
        if self._console.is_terminal:
            self._status = self._console.status(f"starting {title} …")
            self._status.start()
        else:
            self._console.print(f"starting {title}")

    def finish(self) -> None:
        if self._status is not None:
            self._status.stop()
            took_s = time.monotonic() - self._began_s
            self._console.print(f"[green]✓[/] {self._title} [dim]{took_s:.1f} s[/]")
            self._status = None

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.finish()
        elif self._status is not None:
            self._status.stop()
