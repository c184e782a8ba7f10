"""Hostile messages among good ones: each has its right verdict, and all good ones come out once."""

import os
import signal
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from random import Random

import msgspec
import pytest

from fleetlane.events.flows.files import flow_from_toml
from fleetlane.parsers.sandbox.packets import Request
from fleetlane.parsers.sandbox.results import Verdict
from fleetlane.parsers.sandbox.runs import Program, TimeAllowance
from fleetlane.parsers.sandbox.worker.chunks import Slots
from fleetlane.parsers.sandbox.worker.parser_child import ParserChild
from fleetlane.parsers.sandbox.worker.sandboxes import Sandboxes
from fleetlane.parsers.sandbox.worker.zygote_client import Zygote
from tests.unit.parsers.sandbox.conftest import PARSE_S, body_of, children_of, outcomes_of, run_of
from tests.unit.parsers.sandbox.machine import loaded_at_twice_its_cores

VERDICTS = {
    "malformed": Verdict.MALFORMED,
    "no-mapping": Verdict.MALFORMED,
    "fails": Verdict.PARSER_FAILED,
    "fails-with-base-exception": Verdict.PARSER_FAILED,
    "fails-unspeakably": Verdict.PARSER_FAILED,
    "fails-once": Verdict.OK,
    "exits-once": Verdict.OK,
    "recurses": Verdict.PARSER_FAILED,
    "raises-system-exit": Verdict.PARSER_FAILED,
    "loops": Verdict.TIMEOUT,
    "swallows": Verdict.TIMEOUT,
    "sleeps": Verdict.TIMEOUT,
    "sleeps-in-finally": Verdict.TIMEOUT,
    "loops-in-c": Verdict.TIMEOUT,
    "matches-for-ever": Verdict.TIMEOUT,
    "stops-itself": Verdict.TIMEOUT,
    "switches-timer-off": Verdict.TIMEOUT,
    "exits": Verdict.CRASHED,
    "segfaults": Verdict.CRASHED,
    "aborts": Verdict.CRASHED,
    "kills-its-zygote": Verdict.CRASHED,
    "closes-descriptors": Verdict.CRASHED,
    "hogs-at-once": Verdict.MEMORY,
    "hogs-bit-by-bit": Verdict.MEMORY,
    "leaks": Verdict.OK,
    "prints": Verdict.OK,
    "leaves-thread": Verdict.OK,
    "leaves-time-bomb": Verdict.OK,
    "leaves-process": Verdict.OK,
    "leaves-process-and-exits": Verdict.CRASHED,
    "forks-in-c": Verdict.OK,
    "bombs-in-c": Verdict.TIMEOUT,
    "bombs": Verdict.TIMEOUT,
    "flood": Verdict.TOO_MANY_EVENTS,
    "flood-that-never-closes": Verdict.TIMEOUT,
    "flood-that-ignores-its-end": Verdict.TOO_MANY_EVENTS,
    "large-event": Verdict.EVENT_TOO_LARGE,
    "large-output": Verdict.TOO_LARGE,
    "scribbles": Verdict.OK,
    "forges-progress": Verdict.TIMEOUT,
    "forges-progress-for-ever": Verdict.TIMEOUT,
    "blames-and-exits": Verdict.CRASHED,
    "says-that-it-was-not-tried": Verdict.CRASHED,
    "says-that-it-was-cut-short": Verdict.CRASHED,
    "says-that-its-share-is-used-up": Verdict.CRASHED,
    "sends-a-strange-packet": Verdict.CRASHED,
    "sends-an-empty-packet": Verdict.CRASHED,
    "sends-a-reply-below-zero": Verdict.CRASHED,
    "sends-a-reply-beyond-all-bounds": Verdict.CRASHED,
    "sends-a-reply-without-its-columns": Verdict.CRASHED,
    "sends-a-reply-to-nothing": Verdict.CRASHED,
}
KINDS_IN_MIXTURE = sorted(VERDICTS.keys() - {"forges-progress-for-ever"})
"""All but one: where the time budget has no limit, it takes a chunk's whole time to find out."""

MIXTURE_PARSE_S = 0.5
PARSE_S_OF = {"large-output": 2.0}
"""Enough for 64 MB of output on a busy machine: its reason is to be its size."""


@pytest.mark.parametrize("kind", VERDICTS)
def test_a_hostile_message_harms_none_of_its_neighbours(
    lasting_sandboxes: Sandboxes, hostile: Program, tmp_path: Path, kind: str
) -> None:
    bodies = [body_of(number) for number in range(10)]
    bodies[4] = body_of(4, kind, marker=str(tmp_path / "marker"))

    run = run_of(hostile, bodies, parse_s=PARSE_S_OF.get(kind, PARSE_S))
    outcomes = outcomes_of(lasting_sandboxes, run)

    wanted = dict.fromkeys(range(10), Verdict.OK) | {4: VERDICTS[kind]}
    good = {number for number, verdict in wanted.items() if verdict is Verdict.OK}
    assert outcomes.verdicts == wanted, outcomes.details
    assert outcomes.events == {
        number: [{"id": number, "event": 0}, {"id": number, "event": 1}] for number in good
    }
    assert len(children_of(lasting_sandboxes._zygote.pid)) <= 1


HASHED = """
stream = "gps"
owner = "acme"
[event_time]
field = "at"
unit = "ms"
[identity]
by = "content"
[[parsers]]
use = "json"
"""


def test_a_record_that_has_no_canonical_form_fails_its_own_message_alone(
    lasting_sandboxes: Sandboxes, hostile: Program
) -> None:
    bodies = [body_of(number) for number in range(10)]
    bodies[4] = body_of(4, "forges-a-deep-record")
    plain = run_of(hostile, bodies)
    hashed = msgspec.structs.replace(plain.assignment, flow=flow_from_toml(HASHED, file="t.toml"))

    outcomes = outcomes_of(lasting_sandboxes, replace(plain, assignment=hashed))

    assert outcomes.verdicts == dict.fromkeys(range(10), Verdict.OK) | {4: Verdict.CRASHED}


def test_a_flow_with_as_many_topics_as_a_byte_can_name_is_parsed(
    lasting_sandboxes: Sandboxes, hostile: Program
) -> None:
    redirects = "".join(
        f'[[canonical.redirects]]\nwhen = "event"\nequals = {number}\nto = "gps-{number}"\n'
        for number in range(1, 256)
    )
    flow = flow_from_toml(HASHED + redirects, file="t.toml")
    plain = run_of(hostile, [body_of(0)])
    wide = msgspec.structs.replace(plain.assignment, flow=flow)

    outcomes = outcomes_of(lasting_sandboxes, replace(plain, assignment=wide))

    assert outcomes.verdicts == {0: Verdict.OK}
    assert outcomes.topics == {"canonical.gps", "canonical.gps-1"}


def test_requests_that_a_child_does_not_read_end_no_batch(hostile: Program) -> None:
    zygote, slots = Zygote(parts=()), Slots()
    child = ParserChild(zygote, hostile, slots.memory)
    child.await_parser()
    os.kill(child.pid, signal.SIGSTOP)
    nothing = TimeAllowance(0, 0, 0, 0)
    request = Request(
        mark=0,
        begin=0,
        chunk_bytes=0,
        first=0,
        messages=0,
        charged_us=0,
        charged_bytes=0,
        allowance=nothing,
    )

    for _ in range(5_000):
        child.ask(request, None)

    assert child.end().verdict is Verdict.CRASHED
    zygote.close()
    slots.memory.close()


def _mixed(
    random: Random, count: int, folder: Path, *, hostile_share: float
) -> tuple[list[bytes], list[Verdict], list[int]]:
    """Bodies, what is to become of each, and how many events each is to give."""
    bodies, verdicts, events = [], [], []
    for number in range(count):
        if random.random() < hostile_share:
            kind = random.choice(KINDS_IN_MIXTURE)
            body, verdict, some = (
                body_of(number, kind, marker=str(folder / f"{number}")),
                VERDICTS[kind],
                2,
            )
        else:
            some = random.choice([0, 1, 10, 10, 10, 10, 300])
            padding = random.choice([0, 100, 1000, 1000, 10_000])
            if random.random() < 0.002:
                some, padding = random.choice([(1, 3 << 20), (4_000, 1_000), (10, 300_000)])
            body, verdict = body_of(number, events=some, padding=padding), Verdict.OK
        bodies.append(body)
        verdicts.append(verdict)
        events.append(some if verdict is Verdict.OK else 0)
    return bodies, verdicts, events


@pytest.mark.faults
@pytest.mark.parametrize(
    "load",
    [
        pytest.param(nullcontext(), id="idle"),
        pytest.param(loaded_at_twice_its_cores(), id="loaded", marks=pytest.mark.full_length),
    ],
)
def test_among_many_messages_each_comes_out_once_as_it_should(
    sandboxes: Sandboxes,
    hostile: Program,
    tmp_path: Path,
    load: AbstractContextManager[None],
    *,
    faults_are_full: bool,
) -> None:
    count = 20_000 if faults_are_full else 1_000
    random = Random(17)  # noqa: S311 - a test
    bodies, verdicts, events = _mixed(random, count, tmp_path, hostile_share=0.01)
    runs = [
        run_of(hostile, bodies[at : at + 1000], parse_s=MIXTURE_PARSE_S)
        for at in range(0, count, 1000)
    ]

    with load:
        outcomes = [outcomes_of(sandboxes, run) for run in runs]

    found = [verdict for one in outcomes for _, verdict in sorted(one.verdicts.items())]
    given = [len(one.events.get(place, ())) for one in outcomes for place in sorted(one.verdicts)]
    assert [
        (place, bodies[place][:40], verdict, outcomes[place // 1000].details[place % 1000])
        for place, verdict in enumerate(found)
        if verdict is not verdicts[place]
    ] == []
    assert given == events
    assert len(children_of(sandboxes._zygote.pid)) <= 1
