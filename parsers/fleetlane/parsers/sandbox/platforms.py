"""Which sandbox this system can have."""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from fleetlane.parsers.sandbox.budgets import TimeBudget
from fleetlane.parsers.sandbox.results import Result
from fleetlane.parsers.sandbox.runs import Loaded, Program, Run


class ParsesRuns(Protocol):
    """Parses messages within limits: ``sandboxes.Sandboxes``, or ``in_process.InProcess``."""

    def parsed(
        self, run: Run, budget: TimeBudget, *, children_max: int = 1
    ) -> Iterator[Result]: ...

    def loaded(self, program: Program, owner: str) -> Loaded: ...

    def awake(self) -> AbstractContextManager[None]: ...

    def rest(self) -> None: ...

    def jail_problems(self) -> dict[str, str]: ...

    def close(self) -> None: ...


def sandboxes_for_this_system(shared: Path | None = None) -> ParsesRuns:
    """Parsers in children on Linux; in this process on systems that cannot seal or adopt.

    All workers that name a folder ``shared`` count together how many children are used up.
    """
    if sys.platform == "linux":
        from fleetlane.parsers.sandbox.worker.sandboxes import Sandboxes  # noqa: PLC0415 - Linux alone

        return Sandboxes(shared=shared)
    from fleetlane.parsers.sandbox.in_process import InProcess  # noqa: PLC0415

    return InProcess()
