"""How far processes are, and what they took: looked at from outside."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.running.process_tree import tree_cpu_s
from local.servers.processes import ServerProcess

_LOOK_EVERY_S: Final = 0.05


class NotDoneError(Exception):
    """Processes ended early, or took too long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """``cpu_s`` is that of all processes, of all that they started, and ever ended, too."""

    at_s: float
    cpu_s: float
    messages: float

    def cpu_us_a_message_since(self, began: "Look") -> float:
        return (self.cpu_s - began.cpu_s) / (self.messages - began.messages) * 1e6

    def messages_a_second_since(self, began: "Look") -> float:
        return (self.messages - began.messages) / (self.at_s - began.at_s)


class Watched:
    """Processes that do messages; ``done`` counts those that they did."""

    def __init__(
        self, processes: Sequence[ServerProcess], *, done: Callable[[], float], seconds_max: float
    ) -> None:
        self._processes, self._done = processes, done
        self._until_s = time.monotonic() + seconds_max

    def look(self) -> Look:
        cpu_s = sum(tree_cpu_s(process.pid or 0) for process in self._processes)
        return Look(at_s=time.monotonic(), cpu_s=cpu_s, messages=self._done())

    def look_after(self, messages: float) -> Look:
        """Look as soon as so many are done; raises as ``look_when``."""
        return self.look_when(lambda: self._done() >= messages)

    def look_when(self, is_time: Callable[[], bool]) -> Look:
        """Look as soon as it is time to.

        Raises:
            NotDoneError: It never will be: a process ended, or took too long.
        """
        while not is_time():
            for process in self._processes:
                if not process.is_alive():
                    raise NotDoneError(str(process.death()))
            if time.monotonic() > self._until_s:
                log = self._processes[0].log_tail()
                raise NotDoneError(f"{self._done():g} messages in time\n{log}")
            time.sleep(_LOOK_EVERY_S)
        return self.look()
