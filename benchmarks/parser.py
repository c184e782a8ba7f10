"""What the sandbox costs: CPU time a message, in it and in a plain loop that does the same work.

Both sides parse, and write canonical records by the same flow. Messages come as each side has them:
in columns from Spark, in a list from a client of Kafka. The sandboxed side is the worker
and the child together; ``worker_us`` is the worker's part. A ratio is bare CPU time over sandboxed
CPU time: 1 would be free. Both sides take turns, and a ratio is the median of all turns, as is
each time: on a machine whose speed changes only neighbours can be compared. All run on one core:
worker and child would else have two at once, where two of a virtual machine may be one that both
halves slow down. ``parse_only_us`` is the parser alone, its events thrown away: where that is not
what the parser was to cost, it is measured again. ``choice_us`` is what choosing a parser costs.
"""

import argparse
import json
import os
import tempfile
import time
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from benchmarks.parser_choice import choice_us
from benchmarks.spinning_parser import Spinning
from fleetlane.events.canonical import MessageFacts
from fleetlane.events.flows.files import flow_from_toml
from fleetlane.parsers.sandbox.budgets import NO_END_BYTES, TimeBudget
from fleetlane.parsers.sandbox.canonical_records import BytesColumn, Columns
from fleetlane.parsers.sandbox.child.encoding import Encoder
from fleetlane.parsers.sandbox.record_identity import with_identity
from fleetlane.parsers.sandbox.runs import Assignment, Program, Run, envelope_of
from fleetlane.parsers.sandbox.worker.chunks import CHUNK_MESSAGES
from fleetlane.parsers.sandbox.worker.sandboxes import Sandboxes

ROOT: Final = Path(__file__).resolve().parent.parent
COSTS_US: Final = (13, 42)
BODY_KIB: Final = (1, 100, 900)
ROUNDS: Final = 25
TRIALS: Final = 4
COST_ERROR_MAX: Final = 0.05
ROUND_BYTES_MAX: Final = 64 << 20
MESSAGES_MAX: Final = 4_000
FLOW: Final = """
stream = "bench"
owner = "bench"
[event_time]
field = "at"
unit = "ms"
[[parsers]]
use = "spinning==1.0"
"""


class _Round(NamedTuple):
    """CPU time of all messages."""

    parse_only_us: float
    bare_us: float
    worker_us: float
    sandboxed_us: float


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--output", type=Path, default=ROOT / "build" / "bench" / "parser.json")
    output: Path = arguments.parse_args().output
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as site:
        _install(Path(site))
        numbers = _measured(site)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(numbers, indent=2) + "\n")
    print(output.read_text(), end="")  # noqa: T201 - for whoever runs it


def _measured(site: str) -> dict[str, float]:
    numbers: dict[str, float] = {}
    sandboxes = Sandboxes()
    for cost_us in COSTS_US:
        for body_kib in BODY_KIB:
            name, loops = f"{cost_us}us_{body_kib}kib", _loops_for(cost_us)
            for _ in range(TRIALS):
                run = _run(site, loops, body_kib << 10)
                _measure(numbers, name, run, sandboxes, loops)
                off = numbers[f"{name}_parse_only_us"] / cost_us
                if abs(off - 1) <= COST_ERROR_MAX:
                    break
                loops = round(loops / off)
        numbers[f"ratio_{cost_us}us"] = numbers[f"{cost_us}us_1kib_ratio"]
    sandboxes.close()
    numbers["choice_us"] = choice_us()
    return numbers


def _measure(
    numbers: dict[str, float], name: str, run: Run, sandboxes: Sandboxes, loops: int
) -> None:
    """Measure both sides in turn."""
    parser, rounds = Spinning(loops=loops), list[_Round]()
    plain = replace(run, envelopes=[*run.envelopes], bodies=[*run.bodies])
    first = sandboxes.parsed(run, TimeBudget(flow_s_max=1e6))  # there is a child from now on
    assert sum(len(one.records) for one in first) == len(run.bodies), "the parser did not parse"
    for _ in range(ROUNDS):
        parse_only_us = _cpu_us(lambda: _drain(e for b in plain.bodies for e in parser.parse(b)))
        bare_us = _cpu_us(lambda: _bare(plain, loops))
        children, before_ns = _children(sandboxes), _children_cpu_ns(sandboxes)
        worker_us = _cpu_us(lambda: _drain(sandboxes.parsed(run, TimeBudget(flow_s_max=1e6))))
        children_us = (_children_cpu_ns(sandboxes) - before_ns) / 1000
        assert children == _children(sandboxes), "a child was replaced while it was measured"
        rounds.append(_Round(parse_only_us, bare_us, worker_us, worker_us + children_us))
    _note(numbers, name, rounds, len(run.bodies))


def _note(numbers: dict[str, float], name: str, rounds: Sequence[_Round], messages: int) -> None:
    for field in _Round._fields:
        numbers[f"{name}_{field}"] = round(median(getattr(r, field) for r in rounds) / messages, 2)
    ratios = [one.bare_us / one.sandboxed_us for one in rounds]
    numbers[f"{name}_ratio"] = round(median(ratios), 3)
    alone = [one.parse_only_us / one.sandboxed_us for one in rounds]
    numbers[f"{name}_parse_only_ratio"] = round(median(alone), 3)


def _bare(run: Run, loops: int) -> None:
    """The same parsing and encoding as in the child, in a plain loop without any limit."""
    parser = Spinning(loops=loops)
    for first in range(0, len(run.bodies), CHUNK_MESSAGES):
        columns = Columns()
        encoder = Encoder(run.assignment, parser, columns, left_bytes=NO_END_BYTES)
        last = first + CHUNK_MESSAGES
        for envelope, body in zip(run.envelopes[first:last], run.bodies[first:last], strict=True):
            encoder.encode(envelope, body)
        envelopes = run.envelopes[first:last]
        tails = columns.taken(run.assignment.topics)
        with_identity(tails, envelopes, [1] * len(envelopes), run.assignment)


def _drain(things: Iterable[object]) -> None:
    for _ in things:
        pass


def _cpu_us(work: Callable[[], None]) -> float:
    before_ns = time.process_time_ns()
    work()
    return (time.process_time_ns() - before_ns) / 1000


def _children_cpu_ns(sandboxes: Sandboxes) -> int:
    return sum(
        int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) for pid in _children(sandboxes)
    )


def _children(sandboxes: Sandboxes) -> list[int]:
    zygote = sandboxes._zygote.pid  # noqa: SLF001 - nobody else asks
    children = Path(f"/proc/{zygote}/task/{zygote}/children").read_text().split()
    return [zygote, *map(int, children)]


def _loops_for(cost_us: int) -> int:
    loops = 2_000
    parser = Spinning(loops=loops)
    cost = median(_cpu_us(lambda: _drain(parser.parse(b""))) for _ in range(200))
    return round(loops * cost_us / cost)


def _run(site: str, loops: int, body_bytes: int) -> Run:
    messages = min(MESSAGES_MAX, ROUND_BYTES_MAX // body_bytes)
    flow = flow_from_toml(FLOW, file="bench.toml")
    facts = [
        MessageFacts(f"1{one:032x}", f"d-{one}", "bench", 1_762_178_709_123, 0, "tank", "2.1")
        for one in range(messages)
    ]
    return Run(
        program=Program(
            use="spinning==1.0",
            options=json.dumps({"loops": loops}).encode(),
            memory_bytes_max=512 << 20,
            location=site,
        ),
        assignment=Assignment(flow=flow, parser="spinning@1.0", parse_s=0.3),
        envelopes=_column([*map(envelope_of, facts)]),
        bodies=_column([os.urandom(body_bytes) for _ in range(messages)]),
    )


def _column(strings: Sequence[bytes]) -> BytesColumn:
    ends = array("i", accumulate(map(len, strings), initial=0))
    return BytesColumn(memoryview(ends), memoryview(b"".join(strings)))


def _install(site: Path) -> None:
    metadata = site / "spinning-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Name: spinning\nVersion: 1.0\n")
    entry = "[fleetlane.parsers]\nspinning = benchmarks.spinning_parser:Spinning\n"
    (metadata / "entry_points.txt").write_text(entry)


if __name__ == "__main__":
    main()
