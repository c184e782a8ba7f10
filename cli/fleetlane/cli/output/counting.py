"""Counts: one that grows while somebody waits, and one with its noun."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console

_SHOWN_EVERY: Final = 100


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


def number_of(count: int, noun: str) -> str:
    """``1 event``, ``2 events``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
