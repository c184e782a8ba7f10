"""For a person who waits: a count that grows, the steps of a start; and counts with their noun."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

import typer
from rich.console import Console

_SHOWN_EVERY: Final = 100
_INTERRUPTED: Final = 130


@contextmanager
def counted(what: str) -> Iterator[Callable[[int], None]]:
    """Give a function to report a growing count to, such as of "records read".

    It is shown on a terminal's standard error, and nowhere else.
    """
    with Console(stderr=True).status(what) as status:

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


class StepsShown(ExitStack):
    """A spinner a step and its time on a terminal, a line elsewhere.

    The next step, ``close`` or the end finishes one.
    """

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console

    def __call__(self, title: str) -> None:
        """Begin a step, such as "Kafka broker"."""
        self.close()
        if self._console.is_terminal:
            self.enter_context(self._timed(title))
        else:
            self._console.print(f"starting {title}")

    @contextmanager
    def _timed(self, title: str) -> Iterator[None]:
        began_s = time.monotonic()
        with self._console.status(f"starting {title} …"):
            yield
        self._console.print(f"[green]✓[/] {title} [dim]{time.monotonic() - began_s:.1f} s[/]")
