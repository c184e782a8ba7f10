"""All sandboxes of one worker: the children of each program, and the zygote that forks them."""

from collections import OrderedDict, defaultdict
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count, pairwise
from pathlib import Path
from typing import Final

from fleetlane.events.token_bucket import TokenBucket
from fleetlane.parsers.sandbox.budgets import TimeBudget
from fleetlane.parsers.sandbox.jail.entering import Part, hide_memory
from fleetlane.parsers.sandbox.results import Result, Verdict
from fleetlane.parsers.sandbox.runs import Loaded, Program, Run
from fleetlane.parsers.sandbox.worker.children import (
    LOADS_S_MAX,
    Children,
    Loads,
    respawn_rate_limits,
    retry_rate_limits,
)
from fleetlane.parsers.sandbox.worker.feeding import Feeding
from fleetlane.parsers.sandbox.worker.zygote_client import ParserNotLoadedError, Zygote

CHILDREN_MAX: Final = 16
"""A child that waits has some 10 MiB of its own. Where a batch needs more parsers than this, each
batch loads them again: some 20 ms of CPU each, and a busy machine's delays."""

WAITING_BYTES_MAX: Final = 1 << 30
"""Resident memory of all children that wait, with what they share with their zygote."""


class Sandboxes:
    """Has a child a program, or several of a slow one, which wait for the next run.

    Beyond ``CHILDREN_MAX`` or ``waiting_bytes_max`` the ones used least recently are ended.

    Not for use by several threads. A worker that ends, however it ends, takes all with it.
    """

    def __init__(
        self,
        *,
        shared: Path | None = None,
        respawns: Mapping[str, TokenBucket] | None = None,
        retries: Mapping[str, TokenBucket] | None = None,
        loads_s_max: float = LOADS_S_MAX,
        parts: Collection[Part] = tuple(Part),
        waiting_bytes_max: int = WAITING_BYTES_MAX,
    ) -> None:
        """Start the zygote. ``parts`` are the jail's; what this system does not have is left out.

        ``respawns`` have each parser's limit of children that it may use up, ``retries`` that of
        children to retry what failed, and killed none: all workers that name a folder ``shared``
        count these together. ``loads_s_max`` is an owner's.
        """
        hide_memory()
        self._zygote = Zygote(parts)
        # They outlive children that make room for others.
        self._respawns = respawn_rate_limits(shared) if respawns is None else respawns
        self._retries = retry_rate_limits(shared) if retries is None else retries
        self._loads, self._waiting_bytes_max = Loads(loads_s_max), waiting_bytes_max
        self._children: OrderedDict[tuple[Program, int], Children] = OrderedDict()
        self._awake: Children | None = None
        self._stays_awake = False

    def jail_problems(self) -> dict[str, str]:
        """What is wrong with parts of the jail on this system, by part; nothing if it is whole."""
        return self._zygote.problems()

    def parsed(self, run: Run, budget: TimeBudget, *, children_max: int = 1) -> Iterator[Result]:
        """Parse the messages of a run. Nothing that a parser does raises anything here.

        A slow parser has up to ``children_max`` children at once, each for a part of the run; its
        results are in order all the same. One run at a time: the next one only after all results of
        this one, or after ``close`` of this iterator. A result's records may be kept.
        """
        messages = len(run.bodies)
        most = children_max if budget.is_slow(run.assignment) else 1
        children = self._all_of(run, min(messages, most))
        sharers = len(children)
        ends = [messages * place // sharers for place in range(sharers + 1)]
        feedings = [
            Feeding(run, range(*part), each, budget, sharers=sharers)
            for each, part in zip(children, pairwise(ends), strict=True)
        ]
        try:
            for feeding in feedings[1:]:
                feeding.begin()
            for feeding in feedings:
                yield from feeding.results()
        finally:
            for number, feeding in enumerate(feedings):
                feeding.close(stays_awake=self._stays_awake and not number)
            self._awake = children[0] if self._stays_awake else None

    @contextmanager
    def awake(self) -> Iterator[None]:
        """Within it a child that has parsed goes on, until another parses or at ``rest``.

        Its flow is charged with the next message for what it does meanwhile.
        """
        self._stays_awake = True
        try:
            yield
        finally:
            self._stays_awake = False
            self.rest()

    def rest(self) -> None:
        """Stop the child that is awake: with no next message nobody would be charged."""
        if self._awake is not None:
            self._awake.rest(is_busy=False)
            self._awake = None

    def loaded(self, program: Program, owner: str) -> Loaded:
        """Have a child load the program, if none has: ``owner`` has less time for it."""
        children = self._of(program, owner)
        try:
            loaded = Loaded(accepts_buffer=children.current().accepts_buffer)
            children.rest(is_busy=False)
            return loaded
        except ParserNotLoadedError as problem:
            return Loaded(str(problem), is_deferred=problem.verdict is Verdict.NOT_TRIED)

    def close(self) -> None:
        for children in self._children.values():
            children.close()
        self._children.clear()
        self._zygote.close()

    def _all_of(self, run: Run, most: int) -> list[Children]:
        """One, and so many as there is room for, and as can be loaded, beside it."""
        program, owner = run.program, run.assignment.flow.owner
        found = [self._of(program, owner)]
        if self._awake is not found[0]:  # before another is loaded, which may take long
            self.rest()
        with suppress(ParserNotLoadedError):
            for number in range(1, most):
                if (program, number) not in self._children and len(self._children) >= CHILDREN_MAX:
                    break
                another = self._of(program, owner, number)
                another.current()
                found.append(another)
        return found

    def _of(self, program: Program, owner: str, number: int = 0) -> Children:
        key = program, number
        children = self._children.get(key)
        if children is None or next(reversed(self._children)) != key:
            self._make_room_beside(program)
        if children is None:
            children = self._children[key] = Children(
                program,
                zygote=self._zygote,
                loads=self._loads,
                respawns=self._respawns[str(program)],
                retries=self._retries[str(program)],
            )
        children.owner = owner
        self._children.move_to_end(key)
        return children

    def _make_room_beside(self, program: Program) -> None:
        """End what the limits leave no room for: any run may have let its child grow.

        What each owner used last has room first, then the second of each: few are safe from many.
        A program's children beside its first come last.
        """
        others = [one for one in reversed(self._children) if one[0] != program]
        left = CHILDREN_MAX - max(1, len(self._children) - len(others))
        left_bytes, places = self._waiting_bytes_max, defaultdict[str, Iterator[int]](count)
        in_turn = {one: next(places[self._children[one].owner]) for one in others}
        for other in sorted(others, key=lambda one: (one[1] > 0, in_turn[one])):
            size_bytes = self._children[other].resident_bytes()
            if left and size_bytes <= left_bytes:
                left, left_bytes = left - 1, left_bytes - size_bytes
            else:  # it alone: older ones that still have room may wait on
                self._children.pop(other).close()
