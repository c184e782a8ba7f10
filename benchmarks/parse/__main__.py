"""Runs the contenders in turn, three times, and writes ``build/bench/parse.json``."""

import argparse
import json
import shutil
import time
from collections import defaultdict
from itertools import product
from pathlib import Path
from typing import Final

from benchmarks.parse.contenders import WARM_UPS_MAX, Contender, contenders, slow_contenders
from benchmarks.parse.peers.environments import PeerMissingError
from benchmarks.parse.report import report
from benchmarks.parse.stage import stage
from benchmarks.parse.trial import Trial, measured
from benchmarks.parse.workload import parser
from benchmarks.running.services import Services
from benchmarks.running.watched import NotDoneError
from local.checkout import ROOT

_SPARE_MESSAGES: Final = 100_000
"""More messages than are measured, so that no contender runs dry."""

_SLOW_WARM_UP: Final = 6_000
"""More than come to a child at once, before it is known that its parser is slow."""

_SLOW_MESSAGES: Final = 10_000


def main() -> None:
    arguments = _arguments()
    folder: Path = arguments.folder
    shutil.rmtree(folder, ignore_errors=True)
    rounds, warm_up, messages = arguments.rounds, arguments.warm_up, arguments.messages
    wanted, slow = (
        [one for one in some if one.name in (arguments.only or [one.name])]
        for some in (contenders(_loops_for(40.0)), slow_contenders())
    )
    trials = defaultdict[str, list[Trial]](list)
    if wanted:
        with stage(folder, WARM_UPS_MAX * warm_up + messages + _SPARE_MESSAGES) as ready:
            for number, contender in product(range(rounds), wanted):
                trial = _measured_or_skipped(contender, ready, number, warm_up, messages)
                trials[contender.name] += [trial] if trial else []
    if slow:
        with stage(folder / "slow", 2 * (_SLOW_WARM_UP + _SLOW_MESSAGES), partitions=1) as ready:
            for contender in slow:
                trial = _measured_or_skipped(contender, ready, 0, _SLOW_WARM_UP, _SLOW_MESSAGES)
                trials[contender.name] += [trial] if trial else []
    numbers = report({name: of for name, of in trials.items() if of})
    output: Path = arguments.output
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(numbers, indent=2) + "\n")
    _say(output.read_text())
    shutil.rmtree(folder)


def _measured_or_skipped(
    contender: Contender, ready: Services, number: int, warm_up: int, messages: int
) -> Trial | None:
    folder = ready.folder / f"{contender.name}_{number}"
    folder.mkdir()
    try:
        trial = measured(contender, ready, folder=folder, warm_up=warm_up, messages=messages)
    except PeerMissingError as problem:
        _say(f"{contender.name} is skipped, it cannot be installed here: {problem}")
        return None
    except NotDoneError as problem:
        _say(f"{contender.name} is left out of this round: {problem}")
        return None
    cpu, rate = trial.cpu_us_a_message, trial.messages_a_second
    _say(f"{contender.name:10} {cpu:7.2f} CPU-s a million  {rate:8.0f} messages/s")
    return trial


def _loops_for(cost_us: float) -> int:
    """How many loops make the parser cost this much more."""
    loops, costs_ns = 5_000, list[int]()
    body = b'{"base":0,"fw":"1","readings":[]}'
    spinning = parser(loops)
    for _ in range(200):
        began_ns = time.process_time_ns()
        for _ in spinning.parse(body):
            pass
        costs_ns.append(time.process_time_ns() - began_ns)
    return round(loops * cost_us * 1000 / min(costs_ns))


def _arguments() -> argparse.Namespace:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--messages", type=int, default=200_000, help="measured, a run")
    arguments.add_argument(
        "--warm-up", type=int, default=100_000, help="before these; of Spark three times so many"
    )
    arguments.add_argument("--rounds", type=int, default=3, help="the median of so many counts")
    arguments.add_argument("--only", nargs="*", help="contenders by name; all without it")
    bench = ROOT / "build" / "bench"
    arguments.add_argument("--folder", type=Path, default=bench / "run", help="emptied first")
    arguments.add_argument("--output", type=Path, default=bench / "parse.json")
    return arguments.parse_args()


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - for whoever runs it


if __name__ == "__main__":
    main()
