"""A parser's sandbox in one worker: its child, the memory they share, and its budget."""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Final

from fleetlane.events.token_bucket import TokenBucket
from fleetlane.parsers.sandbox.run_result import Result
from fleetlane.parsers.sandbox.runs import Program, Run
from fleetlane.parsers.sandbox.time_budget import TimeBudget
from fleetlane.parsers.sandbox.worker.chunks import Slots
from fleetlane.parsers.sandbox.worker.feeding import Feeding
from fleetlane.parsers.sandbox.worker.parser_child import Death, ParserChild, ParserNotLoadedError
from fleetlane.parsers.sandbox.worker.zygote_client import Zygote

CHILDREN_MAX: Final = 4
LOAD_PAUSE_SHARE: Final = 10

_log = logging.getLogger(__name__)


def respawn_rate_limit() -> TokenBucket:
    """How many children a parser may use up: its failures must not become a storm of forks."""
    return TokenBucket.full(burst=100, per_s=10, now_s=time.monotonic())


def retry_rate_limit() -> TokenBucket:
    """How often a message that failed, and killed no child, is tried again in a fresh one.

    It helps where the first child was to blame. A parser that fails all the time would double the
    time of all messages by it; what failed has more tries in the slow lane.
    """
    return TokenBucket.full(burst=20, per_s=0.2, now_s=time.monotonic())


class Sandbox:
    """Runs one program. Its child lives on from run to run, until it fails or is stopped."""

    def __init__(
        self, program: Program, *, zygote: Zygote, respawns: TokenBucket, retries: TokenBucket
    ) -> None:
        self._program, self._zygote = program, zygote
        self._respawns, self._retries = respawns, retries
        self._slots = Slots()
        self._child: ParserChild | None = None
        self._is_alarmed = False
        self._problem: ParserNotLoadedError | None = None
        self._load_again_s = 0.0

    def parsed(self, run: Run, overtime: TimeBudget) -> Iterator[Result]:
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
        may = self.may_respawn() if is_blamed else self._retries.take(time.monotonic())
        if not may:
            return None
        try:
            return self._loaded()
        except ParserNotLoadedError:
            return None

    def may_respawn(self) -> bool:
        """Whether one more child may be used up; counts it."""
        may = self._respawns.take(time.monotonic())
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
        new_respawns: Callable[[], TokenBucket] = respawn_rate_limit,
        new_retries: Callable[[], TokenBucket] = retry_rate_limit,
    ) -> None:
        """Have none yet.

        Args:
            new_respawns: How many children a parser may use up.
            new_retries: How many it may have to retry what failed, and killed none.
        """
        self._zygote = Zygote()
        self._new_respawns, self._new_retries = new_respawns, new_retries
        self._sandboxes: OrderedDict[Program, Sandbox] = OrderedDict()

    @property
    def zygote_pid(self) -> int:
        return self._zygote.pid

    def parsed(self, run: Run, overtime: TimeBudget) -> Iterator[Result]:
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
                respawns=self._new_respawns(),
                retries=self._new_retries(),
            )
            self._sandboxes[program] = sandbox
        self._sandboxes.move_to_end(program)
        return sandbox
