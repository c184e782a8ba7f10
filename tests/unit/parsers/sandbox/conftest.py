"""A sandbox with a parser that does as its messages say, and what must be left of it: nothing."""

import gc
import json
import os
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from fleetlane.events.canonical import MessageFacts
from fleetlane.events.flows.files import flow_from_toml
from fleetlane.events.token_bucket import TokenBucket
from fleetlane.parsers.sandbox.budgets import TimeBudget
from fleetlane.parsers.sandbox.jail.entering import Part
from fleetlane.parsers.sandbox.results import Result, Verdict
from fleetlane.parsers.sandbox.runs import Assignment, Program, Run, envelope_of
from fleetlane.parsers.sandbox.worker.sandboxes import Sandboxes

PARSE_S = 0.25
MEMORY_BYTES_MAX = 256 << 20
EVENTS_MAX = 5_000
HOSTILE = Path(__file__).with_name("hostile_parser.py")

type Install = Callable[[str, str, str], str]


@pytest.fixture(scope="session")
def install(tmp_path_factory: pytest.TempPathFactory) -> Install:
    """Lay out a parser package as a wheel unpacks, and give the folder: ``name==version``."""

    def install(pin: str, target: str, code: str) -> str:
        name, _, version = pin.partition("==")
        site = tmp_path_factory.mktemp(name)
        metadata = site / f"{name.replace('-', '_')}-{version}.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n")
        entry = f"[fleetlane.parsers]\n{name} = {target}\n"
        (metadata / "entry_points.txt").write_text(entry)
        (site / f"{target.partition(':')[0]}.py").write_text(code)
        return str(site)

    return install


@pytest.fixture(scope="session")
def hostile(install: Install) -> Program:
    site = install("hostile==1.0", "hostile_parser:Hostile", HOSTILE.read_text())
    return program("hostile==1.0", site)


@pytest.fixture
def sandboxes() -> Iterator[Sandboxes]:
    yield from _sandboxes()


@pytest.fixture(scope="module")
def lasting_sandboxes() -> Iterator[Sandboxes]:
    yield from _sandboxes()


@pytest.fixture(scope="module")
def jails() -> Iterator[Sandboxes]:
    """Sandboxes whose children are in the whole jail."""
    yield from _sandboxes(Part)


def _sandboxes(parts: Collection[Part] = ()) -> Iterator[Sandboxes]:
    """Sandboxes that may use up children as they like; nothing may be left of them.

    Without a jail, as on a kernel that has none: what a parser may do there harms no other either.
    """
    before = _belongings()
    sandboxes = Sandboxes(
        respawns=TokenBucket.by_name(burst=100_000, per_s=0),
        retries=TokenBucket.by_name(burst=100_000, per_s=0),
        parts=parts,
    )
    yield sandboxes
    sandboxes.close()
    assert _belongings() == before


def program(use: str, location: str | None, **options: Any) -> Program:
    return Program(
        use=use,
        options=json.dumps(options).encode(),
        memory_bytes_max=MEMORY_BYTES_MAX,
        location=location,
    )


def run_of(
    program: Program, bodies: Sequence[bytes], *, stream: str = "gps", parse_s: float = PARSE_S
) -> Run:
    toml = f"""
    stream = "{stream}"
    owner = "acme"
    [limits]
    events_max = {EVENTS_MAX}
    [[parsers]]
    use = "json"
    """
    flow = flow_from_toml(toml, file="test.toml")
    return Run(
        program=program,
        assignment=Assignment(flow=flow, parser="test@1", parse_s=parse_s),
        envelopes=[
            envelope_of(MessageFacts(str(number), f"d-{number}", "test", 1_762_178_709_123))
            for number in range(len(bodies))
        ],
        bodies=bodies,
    )


def body_of(
    number: int, kind: str = "good", *, events: int = 2, padding: int = 0, **more: Any
) -> bytes:
    order = {"kind": kind, "id": number, "events": events, **more}
    return json.dumps(order).encode() + b"#" * padding


def no_time_limit() -> TimeBudget:
    return TimeBudget(flow_s_max=1e6)


class Outcomes:
    """What came of a run, by message: verdicts, and the events of each."""

    def __init__(self, run: Run, results: Iterator[Result]) -> None:
        self.verdicts: dict[int, Verdict] = {}
        self.details: dict[int, str] = {}
        self.events: dict[int, list[Any]] = {}
        self.topics: set[str] = set()
        for result in results:
            self._add(run, result)

    def _add(self, run: Run, result: Result) -> None:
        told = 0
        for place, attempt in result.attempts:
            assert place not in self.verdicts, "every message comes out once"
            self.verdicts[place] = attempt.verdict
            self.details[place] = attempt.detail
            told += attempt.events
        assert told == len(result.records)
        for record in result.records:
            canonical = json.loads(record.value)
            self.topics.add(record.topic)
            self.events.setdefault(int(canonical["rawid"]), []).append(canonical["data"])


def outcomes_of(sandboxes: Sandboxes, run: Run, budget: TimeBudget | None = None) -> Outcomes:
    outcomes = Outcomes(run, sandboxes.parsed(run, budget or no_time_limit()))
    assert sorted(outcomes.verdicts) == list(range(len(run.bodies))), "every message comes out"
    return outcomes


def children_of(pid: int) -> list[int]:
    """The processes that any of its threads has started: each thread lists its own."""
    listings = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for path in listings for child in _text_of(path).split()]


def _text_of(path: Path) -> str:
    try:
        return path.read_text()
    except (FileNotFoundError, ProcessLookupError):  # that thread has ended
        return ""


def _belongings() -> tuple[int, int, list[int], int]:
    """How many files, threads, children and pieces of shared memory this process has."""
    gc.collect()
    maps = Path("/proc/self/maps").read_text().count("memfd:")
    return (
        len(list(Path("/proc/self/fd").iterdir())),
        threading.active_count(),
        children_of(os.getpid()),
        maps,
    )
