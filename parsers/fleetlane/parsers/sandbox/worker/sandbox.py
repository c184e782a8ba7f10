"""A parser's sandbox in one worker: its child, the memory they share, and its budget."""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Final

from fleetlane.parsers.sandbox.budgets.respawn_limit import RespawnBudget, few_retries
from fleetlane.parsers.sandbox.budgets.time_budget import Overtime
from fleetlane.parsers.sandbox.run_result import Result
from fleetlane.parsers.sandbox.runs import Program, Run
from fleetlane.parsers.sandbox.worker.chunks import Slots
from fleetlane.parsers.sandbox.worker.feeding import Feeding
from fleetlane.parsers.sandbox.worker.parser_child import Death, ParserChild, ParserNotLoadedError
from fleetlane.parsers.sandbox.worker.zygote_client import Zygote

CHILDREN_MAX: Final = 4
LOAD_PAUSE_SHARE: Final = 10

_log = logging.getLogger(__name__)


class Sandbox:
    """Runs one program. Its child lives on from run to run, until it fails or is stopped."""

    def __init__(
        self, program: Program, *, zygote: Zygote, budget: RespawnBudget, retries: RespawnBudget
    ) -> None:
        self._program, self._zygote = program, zygote
        self._budget, self._retries = budget, retries
        self._slots = Slots()
        self._child: ParserChild | None = None
        self._is_alarmed = False
        self._problem: ParserNotLoadedError | None = None
        self._load_again_s = 0.0

    def parsed(self, run: Run, overtime: Overtime) -> Iterator[Result]:
        """Give every message of a run its result. Its records may be kept as long as wanted."""
        feeding = Feeding(run, children=self, slots=self._slots, overtime=overtime)
        return feeding.results()

    def current(self) -> ParserChild:
        """The child that lives on; made if there is none.

        Raises:
            ParserNotLoadedError: There can be none. For ten times as long as it took to find
                that out it is not tried again: a parser that hangs at import holds up nobody.
        """
        if self._child is None:
            self._child = self._loaded()
        return self._child

    def _loaded(self) -> ParserChild:
        began_s = time.monotonic()
        if self._problem is not None and began_s < self._load_again_s:
            raise ParserNotLoadedError(*self._problem.args)
        child = ParserChild(self._zygote, self._program, self._slots.memory)
        try:
            child.await_parser()
        except ParserNotLoadedError as problem:
            now_s = time.monotonic()
            self._problem = problem
            self._load_again_s = now_s + LOAD_PAUSE_SHARE * (now_s - began_s)
            _log.warning("parser %s cannot be loaded: %s", self._program.use, problem)
            raise
        self._problem = None
        return child

    def end_current(self) -> Death:
        assert self._child is not None, "who ends it has asked it"
        child, self._child = self._child, None
        return child.end()

    def fresh(self, *, is_blamed: bool) -> ParserChild | None:
        may = self.may_respawn() if is_blamed else self._retries.take()
        if not may:
            return None
        try:
            return self._loaded()
        except ParserNotLoadedError:
            return None

    def may_respawn(self) -> bool:
        """Whether one more child may be used up; counts it."""
        may = self._budget.take()
        if self._is_alarmed is may:  # once when it begins, not once a message
            self._is_alarmed = not may
            if not may:
                _log.error(
                    "parser %s uses up its children too fast: messages go on unparsed",
                    self._program.use,
                )
        return may

    def close(self) -> None:
        """End the child and give the memory back."""
        if self._child is not None:
            self.end_current()
        self._slots.close()


class Sandboxes:
    """All sandboxes of one worker. Beyond four, the one that was used least recently is closed.

    Not for use by several threads. A worker that ends, however it ends, takes all with it.
    """

    def __init__(
        self,
        *,
        new_budget: Callable[[], RespawnBudget] = RespawnBudget,
        new_retries: Callable[[], RespawnBudget] = few_retries,
    ) -> None:
        """Have none yet.

        Args:
            new_budget: How many children a parser may use up.
            new_retries: How many it may have for second tries at what failed, and killed none.
        """
        self._zygote = Zygote()
        self._new_budget, self._new_retries = new_budget, new_retries
        self._sandboxes: OrderedDict[Program, Sandbox] = OrderedDict()

    @property
    def zygote_pid(self) -> int:
        return self._zygote.pid

    def parsed(self, run: Run, overtime: Overtime) -> Iterator[Result]:
        """Parse the messages of a run. Nothing that a parser does raises anything here.

        One run at a time: the next one only after all results of this one, or after ``close`` of
        this iterator.
        """
        return self._sandbox(run.program).parsed(run, overtime)

    def load_problem(self, program: Program) -> str | None:
        """Have a child load the program, if none has, and say what comes in its way."""
        try:
            self._sandbox(program).current()
        except ParserNotLoadedError as problem:
            return str(problem)
        return None

    def accepts_buffer(self, program: Program) -> bool:
        """Whether the program's parser is given its messages as buffers; false if there is none."""
        try:
            return self._sandbox(program).current().accepts_buffer
        except ParserNotLoadedError:
            return False

    def close(self) -> None:
        for sandbox in self._sandboxes.values():
            sandbox.close()
        self._sandboxes.clear()
        self._zygote.close()

    def _sandbox(self, program: Program) -> Sandbox:
        sandbox = self._sandboxes.get(program)
        if sandbox is None:
            while len(self._sandboxes) >= CHILDREN_MAX:
                _, oldest = self._sandboxes.popitem(last=False)
                oldest.close()
            sandbox = Sandbox(
                program,
                zygote=self._zygote,
                budget=self._new_budget(),
                retries=self._new_retries(),
            )
            self._sandboxes[program] = sandbox
        self._sandboxes.move_to_end(program)
        return sandbox
