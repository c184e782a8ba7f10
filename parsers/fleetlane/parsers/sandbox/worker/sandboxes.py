"""All sandboxes of one worker: the children of each program, and the zygote that forks them."""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator
from typing import Final

from fleetlane.events.token_bucket import TokenBucket
from fleetlane.parsers.sandbox.jail.entering import Part, hide_memory
from fleetlane.parsers.sandbox.results import Result
from fleetlane.parsers.sandbox.runs import Program, Run
from fleetlane.parsers.sandbox.time_budget import TimeBudget
from fleetlane.parsers.sandbox.worker.children import Children, respawn_rate_limit, retry_rate_limit
from fleetlane.parsers.sandbox.worker.feeding import Feeding
from fleetlane.parsers.sandbox.worker.parser_child import ParserNotLoadedError
from fleetlane.parsers.sandbox.worker.zygote_client import Zygote

PROGRAMS_MAX: Final = 4


class Sandboxes:
    """Beyond four programs, the children of the one used least recently are ended.

    Not for use by several threads. A worker that ends, however it ends, takes all with it.
    """

    def __init__(
        self,
        *,
        new_respawns: Callable[[], TokenBucket] = respawn_rate_limit,
        new_retries: Callable[[], TokenBucket] = retry_rate_limit,
        parts: Collection[Part] = tuple(Part),
    ) -> None:
        """Start the zygote.

        Args:
            new_respawns: How many children a parser may use up.
            new_retries: How many it may have to retry what failed, and killed none.
            parts: Of the jail; of these what this system does not have is left out.
        """
        hide_memory()
        self._zygote = Zygote(parts)
        self._new_respawns, self._new_retries = new_respawns, new_retries
        self._children: OrderedDict[Program, Children] = OrderedDict()

    @property
    def zygote_pid(self) -> int:
        return self._zygote.pid

    def jail_problems(self) -> dict[str, str]:
        """What is wrong with parts of the jail on this system, by part; nothing if it is whole."""
        return self._zygote.problems()

    def parsed(self, run: Run, time_budget: TimeBudget) -> Iterator[Result]:
        """Parse the messages of a run. Nothing that a parser does raises anything here.

        One run at a time: the next one only after all results of this one, or after ``close`` of
        this iterator. A result's records may be kept as long as wanted.
        """
        return Feeding(run, children=self._of(run.program), time_budget=time_budget).results()

    def load_problem(self, program: Program) -> str | None:
        """Have a child load the program, if none has; why it cannot be loaded, if it cannot."""
        try:
            self._of(program).current()
        except ParserNotLoadedError as problem:
            return str(problem)
        return None

    def accepts_buffer(self, program: Program) -> bool:
        """Whether the program's parser is given its messages as buffers; false if there is none."""
        try:
            return self._of(program).current().accepts_buffer
        except ParserNotLoadedError:
            return False

    def close(self) -> None:
        for children in self._children.values():
            children.close()
        self._children.clear()
        self._zygote.close()

    def _of(self, program: Program) -> Children:
        children = self._children.get(program)
        if children is None:
            while len(self._children) >= PROGRAMS_MAX:
                _, oldest = self._children.popitem(last=False)
                oldest.close()
            children = self._children[program] = Children(
                program,
                zygote=self._zygote,
                respawns=self._new_respawns(),
                retries=self._new_retries(),
            )
        self._children.move_to_end(program)
        return children
