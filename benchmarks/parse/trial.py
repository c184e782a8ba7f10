"""One contender measured: its CPU time and its rate, between two looks at what it has written."""

import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.parse.contenders import Contender, environment
from benchmarks.parse.jvm_copy import COPIES_TOPIC
from benchmarks.parse.outputs import check_records, end_offset, records_gone
from benchmarks.parse.process_tree import tree_cpu_s
from benchmarks.parse.stage import Stage
from local.checkout import ROOT
from local.processes import ServerProcess

_LOOK_EVERY_S: Final = 0.05
_SECONDS_MAX: Final = 1_200.0


class TrialError(Exception):
    """A contender did not do its work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What one run cost, over the messages after the warm-up."""

    cpu_us_a_message: float
    messages_a_second: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    at_s: float
    cpu_s: float
    messages: float


def measured(
    contender: Contender, stage: Stage, *, folder: Path, warm_up: int, messages: int
) -> Trial:
    """Run a contender from the first message on, until it has done those that are measured.

    Raises:
        TrialError: It ended early, took too long, or wrote anything but what is expected.
    """
    stage.publish(contender.turns)
    before = end_offset(stage, contender.output_topic)
    with ExitStack() as stack:
        processes = []
        for number, command in enumerate(contender.commands(stage, folder, contender.turns)):
            process = ServerProcess(
                contender.name,
                list(command),
                log_path=folder / f"{number}.log",
                env=dict(environment(stage)),
                cwd=ROOT,
            )
            stack.callback(process.kill)
            process.start()
            processes.append(process)
        runner = _Runner(contender, stage, processes, before)
        began = runner.look_after(warm_up)
        ended = runner.look_after(round(began.messages + messages * contender.share))
    if contender.output_topic != COPIES_TOPIC:
        check_records(stage, contender.output_topic)
    records_gone(stage)
    done = ended.messages - began.messages
    return Trial(
        cpu_us_a_message=(ended.cpu_s - began.cpu_s) / done * 1e6,
        messages_a_second=done / (ended.at_s - began.at_s),
    )


class _Runner:
    def __init__(
        self, contender: Contender, stage: Stage, processes: list[ServerProcess], before: int
    ) -> None:
        self._contender, self._stage = contender, stage
        self._processes, self._before = processes, before
        self._until_s = time.monotonic() + _SECONDS_MAX

    def look_after(self, messages: int) -> _Look:
        while True:
            done = end_offset(self._stage, self._contender.output_topic) - self._before
            if done / self._contender.records_a_message >= messages:
                return self._look()
            for process in self._processes:
                if not process.is_alive():
                    raise TrialError(str(process.death()))
            if time.monotonic() > self._until_s:
                log = self._processes[0].log_tail()
                raise TrialError(f"{self._contender.name}: {done} records in time\n{log}")
            time.sleep(_LOOK_EVERY_S)

    def _look(self) -> _Look:
        cpu_s = sum(tree_cpu_s(process.pid or 0) for process in self._processes)
        done = end_offset(self._stage, self._contender.output_topic) - self._before
        messages = done / self._contender.records_a_message
        return _Look(at_s=time.monotonic(), cpu_s=cpu_s, messages=messages)
