"""Where a run's children come from: how they are replaced, and what their parsers may use up."""

import logging
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from fleetlane.events.token_bucket import TokenBucket
from fleetlane.parsers.sandbox.results import Verdict
from fleetlane.parsers.sandbox.runs import Program
from fleetlane.parsers.sandbox.shared_buckets import token_buckets
from fleetlane.parsers.sandbox.stopwatch import run_queue_ns
from fleetlane.parsers.sandbox.worker.chunks import Slots
from fleetlane.parsers.sandbox.worker.excess import resident_bytes
from fleetlane.parsers.sandbox.worker.parser_child import ChildExit, ParserChild
from fleetlane.parsers.sandbox.worker.zygote_client import ParserNotLoadedError, Zygote

LOAD_PAUSE_SHARE: Final = 10
LOADS_S_MAX: Final = 20.0
"""So long all loads of an owner may take, the last one apart; a tenth of all time comes back."""

LOAD_USUAL_S: Final = 0.25
"""Of each program's first load, and not charged: an owner may have many with large libraries."""

_log = logging.getLogger(__name__)


def respawn_rate_limits(shared: Path | None) -> dict[str, TokenBucket]:
    """How many children a parser may use up: its failures must not become a storm of forks."""
    return token_buckets(shared and shared / "respawns", burst=100, per_s=10)


def retry_rate_limits(shared: Path | None) -> dict[str, TokenBucket]:
    """How often a message that failed, and killed no child, is tried again in a fresh one.

    It helps where the first child was to blame. A parser that fails all the time would double the
    time of all messages by it; what failed has more tries in the slow lane.
    """
    return token_buckets(shared and shared / "retries", burst=20, per_s=0.2)


class Loads:
    """What loading has taken each owner, and what could not be loaded: it outlives children."""

    def __init__(self, owner_s_max: float) -> None:
        self._owners = TokenBucket.by_name(burst=owner_s_max, per_s=1 / LOAD_PAUSE_SHARE)
        self._failed: dict[Program, tuple[float, tuple[Any, ...]]] = {}
        self._charged = set[Program]()

    def check(self, program: Program, owner: str) -> None:
        """Raise ``ParserNotLoadedError``, ``NOT_TRIED`` where it is for the owner's other loads.

        What failed is not loaded again for ten times as long as that took, as it may hang.
        """
        now_s = time.monotonic()
        again_s, failure = self._failed.get(program, (now_s, ()))
        if now_s < again_s:
            raise ParserNotLoadedError(*failure)
        if self._owners[owner].left_at(now_s) < 0:
            late = f"the parsers of {owner} take too long to load"
            raise ParserNotLoadedError(Verdict.NOT_TRIED, late)

    def charge(self, owner: str, program: Program, worked_s: float) -> None:
        usual_s = 0.0 if program in self._charged else LOAD_USUAL_S
        self._charged.add(program)
        self._owners[owner].overdraw(time.monotonic(), max(0.0, worked_s - usual_s))

    def failed(self, program: Program, problem: ParserNotLoadedError, began_s: float) -> None:
        now_s = time.monotonic()
        # Few are: none of them is older than ten times what it took, and loads follow each other.
        self._failed = {one: was for one, was in self._failed.items() if now_s < was[0]}
        self._failed[program] = now_s + LOAD_PAUSE_SHARE * (now_s - began_s), problem.args
        _log.warning("parser %s cannot be loaded: %r", program.use, str(problem))


class Children:
    """The children of one program, and the memory they share with the worker.

    One of them, the current one, lives on from run to run until it fails or is stopped. What it
    took to load the parser again for those behind the first is ``reload_us``, until it is charged;
    the first is charged to the ``owner`` of the flow that needs it.
    """

    owner: str

    def __init__(
        self,
        program: Program,
        *,
        zygote: Zygote,
        loads: Loads,
        respawns: TokenBucket,
        retries: TokenBucket,
    ) -> None:
        self.slots = Slots()
        self._program, self._zygote, self._loads = program, zygote, loads
        self._respawns, self._retries = respawns, retries
        self._child: ParserChild | None = None
        self._is_alarmed = self._has_loaded = self._is_at_rest = False
        self.reload_us = 0

    def current(self) -> ParserChild:
        """The child that lives on; made if there is none.

        Raises ``ParserNotLoadedError`` where there can be none, or none now: see ``Loads``.
        """
        self.ended_orphan()
        if self._child is None:
            self._child = self._loaded()
        elif self._is_at_rest:
            self._child.send(signal.SIGCONT)
        self._is_at_rest = False
        return self._child

    def ended_orphan(self) -> bool:
        """Whether the current child's zygote was killed, and so was it: it is none any more."""
        if self._child is None or not self._child.is_orphan:
            return False
        self.end_current()
        self._has_loaded = False  # this one is the fault of another
        return True

    def rest(self, *, is_busy: bool) -> None:
        """Stop the current child until the next run: nobody would be charged for what it does.

        One that is busy with an abandoned run is ended: the next must not get its replies.
        """
        if is_busy:
            self.end_current()
        elif self._child is not None:
            self._child.stop()
            self._is_at_rest = True

    def end_current(self) -> ChildExit:
        assert self._child is not None, "who ends it has asked it"
        child, self._child = self._child, None
        return child.end()

    def replace_current(self, fresh: ParserChild) -> None:
        """Have a child live on that parsed what failed in the current one: that may be broken."""
        if self._child is not None:
            self.end_current()
        self._child, self._is_at_rest = fresh, False

    def fresh(self, *, is_blamed: bool) -> ParserChild | None:
        """A child for the caller alone; ``None`` where the parser has used up too many.

        ``is_blamed``: the one before it died. Others had failures that may be the child's own.
        """
        may = self.may_respawn() if is_blamed else self._retries.take(time.monotonic())
        with suppress(ParserNotLoadedError):
            return self._loaded() if may else None
        return None

    def may_respawn(self) -> bool:
        """Whether one more child may be used up; counts it."""
        may = self._respawns.take(time.monotonic())
        if not may and not self._is_alarmed:  # once when it begins, not once a message
            use = self._program.use
            _log.error("parser %s uses up its children too fast: messages go on unparsed", use)
        self._is_alarmed = not may
        return may

    def resident_bytes(self) -> int:
        return 0 if self._child is None else resident_bytes(self._child.pid)

    def close(self) -> None:
        if self._child is not None:
            self.end_current()
        self.slots.memory.close()

    def _loaded(self) -> ParserChild:
        self._loads.check(self._program, self.owner)
        began_s = time.monotonic()
        child = ParserChild(self._zygote, self._program, self.slots.memory)
        try:
            child.await_parser()
        except ParserNotLoadedError as problem:
            self._loads.failed(self._program, problem, began_s)
            self._loads.charge(self.owner, self._program, child.watched_s)
            raise
        if self._has_loaded:
            took_us = (time.monotonic() - began_s) * 1e6 - run_queue_ns(child.pid) / 1000
            self.reload_us += max(0, int(took_us))
        else:
            self._loads.charge(self.owner, self._program, child.watched_s)
        self._has_loaded = True
        return child
