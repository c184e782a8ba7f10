"""Where a run's children come from: how they are replaced, and how many a parser may use up."""

import logging
import signal
import time
from contextlib import suppress
from typing import Final

from fleetlane.events.token_bucket import TokenBucket
from fleetlane.parsers.sandbox.runs import Program
from fleetlane.parsers.sandbox.time_budget import run_queue_ns
from fleetlane.parsers.sandbox.worker.chunks import Slots
from fleetlane.parsers.sandbox.worker.excess import resident_bytes
from fleetlane.parsers.sandbox.worker.parser_child import (
    ChildExit,
    ParserChild,
    ParserNotLoadedError,
)
from fleetlane.parsers.sandbox.worker.zygote_client import Zygote

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


class Children:
    """The children of one program, and the memory they share with the worker.

    One of them, the current one, lives on from run to run until it fails or is stopped. What it
    took to load the parser again for those behind the first is ``reload_us``, until it is charged.
    """

    def __init__(
        self, program: Program, *, zygote: Zygote, respawns: TokenBucket, retries: TokenBucket
    ) -> None:
        self.slots = Slots()
        self._program, self._zygote = program, zygote
        self._respawns, self._retries = respawns, retries
        self._child: ParserChild | None = None
        self._is_alarmed = self._has_loaded = self._is_at_rest = False
        self.reload_us = 0
        self._problem: ParserNotLoadedError | None = None
        self._load_again_s = 0.0

    def current(self) -> ParserChild:
        """The child that lives on; made if there is none.

        Raises ``ParserNotLoadedError`` where there can be none. Loading is not tried again for ten
        times as long as the failed load took: a parser that hangs at import holds up nobody.
        """
        if self._child is not None and self._child.is_orphan:
            self.end_current()
            self._has_loaded = False  # this one is the fault of another
        if self._child is None:
            self._child = self._loaded()
        elif self._is_at_rest:
            self._child.send(signal.SIGCONT)
        self._is_at_rest = False
        return self._child

    def rest(self, *, is_busy: bool) -> None:
        """Stop the current child until the next run: nobody would be charged for what it does.

        One that is busy with an abandoned run is ended: the next must not get its replies.
        """
        if is_busy:
            self.end_current()
        elif self._child is not None:
            self._child.send(signal.SIGSTOP)
            self._is_at_rest = True

    def end_current(self) -> ChildExit:
        assert self._child is not None, "who ends it has asked it"
        child, self._child = self._child, None
        return child.end()

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
        began_s = time.monotonic()
        if self._problem is not None and began_s < self._load_again_s:
            raise ParserNotLoadedError(*self._problem.args)
        child = ParserChild(self._zygote, self._program, self.slots.memory)
        try:
            child.await_parser()
        except ParserNotLoadedError as problem:
            now_s = time.monotonic()
            self._problem = problem
            self._load_again_s = now_s + LOAD_PAUSE_SHARE * (now_s - began_s)
            _log.warning("parser %s cannot be loaded: %r", self._program.use, str(problem))
            raise
        self._problem = None
        if self._has_loaded:
            took_us = (time.monotonic() - began_s) * 1e6 - run_queue_ns(child.pid) / 1000
            self.reload_us += max(0, int(took_us))
        self._has_loaded = True
        return child
