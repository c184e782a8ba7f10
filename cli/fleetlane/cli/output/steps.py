"""Long steps as they go by: a spinner and their times on a terminal, plain lines elsewhere."""

import time
from typing import Self

from rich.console import Console
from rich.status import Status


class StepsShown:
    """Shows one step at a time; the next one, or the end, finishes it. A context manager."""

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
        """End the present step, if any."""
        if self._status is not None:
            self._status.stop()
            took_s = time.monotonic() - self._began_s
            self._console.print(f"[green]✓[/] {self._title} [dim]{took_s:.1f} s[/]")
            self._status = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.finish()
        elif self._status is not None:
            self._status.stop()
