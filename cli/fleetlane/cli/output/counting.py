"""A count that grows, for who waits: on a terminal's standard error, and nowhere else."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console

_SHOWN_EVERY: Final = 100


@contextmanager
def counted(what: str) -> Iterator[Callable[[int], None]]:
    """Give what is to be told the count, such as of "records read"."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status(what) as status:

        def show(count: int) -> None:
            if count % _SHOWN_EVERY == 0:
                status.update(f"{what}: {count}")

        yield show
