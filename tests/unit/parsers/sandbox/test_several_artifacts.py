"""Several parser artifacts at once in one worker: none sees, ends or changes another's work."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from fleetlane.parsers.sandbox.results import Verdict
from fleetlane.parsers.sandbox.runs import Program
from fleetlane.parsers.sandbox.worker.sandboxes import CHILDREN_MAX, Sandboxes
from tests.unit.parsers.sandbox.conftest import (
    HOSTILE,
    Install,
    body_of,
    children_of,
    outcomes_of,
    program,
    run_of,
)

ROUNDS = 3
KINDS = {
    "1.0": ("exits", Verdict.CRASHED),
    "2.0": ("loops", Verdict.TIMEOUT),
    "3.0": ("hogs-bit-by-bit", Verdict.MEMORY),
    "4.0": ("scribbles", Verdict.OK),
    "5.0": ("fails", Verdict.PARSER_FAILED),
    "6.0": ("leaves-process", Verdict.OK),
}
MARKED = """
_plain = Hostile.parse

def _marked(self, message):
    for event in _plain(self, message):
        yield {{**event, "version": "{version}"}}

Hostile.parse = _marked
"""


@pytest.fixture(scope="module")
def artifacts(install: Install) -> dict[str, Program]:
    """The hostile parser in several versions, each of which says in its events which one it is."""
    code, target = HOSTILE.read_text(), "hostile_parser:Hostile"
    sites = {
        version: install(f"hostile=={version}", target, code + MARKED.format(version=version))
        for version in KINDS
    }
    return {version: program(f"hostile=={version}", site) for version, site in sites.items()}


def test_more_artifacts_than_children_each_do_their_own_work_round_after_round(
    sandboxes: Sandboxes, artifacts: dict[str, Program]
) -> None:
    wanted = {
        version: [Verdict.OK] * 5 + [verdict] + [Verdict.OK] * 4
        for version, (_, verdict) in KINDS.items()
    }
    runs = {
        version: run_of(
            artifacts[version], [body_of(n, kind if n == 5 else "good") for n in range(10)]
        )
        for version, (kind, _) in KINDS.items()
    }

    rounds = [
        {version: outcomes_of(sandboxes, run) for version, run in runs.items()}
        for _ in range(ROUNDS)
    ]

    for outcomes in rounds:
        for version, one in outcomes.items():
            assert [one.verdicts[place] for place in range(10)] == wanted[version], one.details
            events = [event for place in sorted(one.events) for event in one.events[place]]
            assert len(events) == 2 * wanted[version].count(Verdict.OK)
            assert {event["version"] for event in events} == {version}
    assert len(children_of(sandboxes._zygote.pid)) <= CHILDREN_MAX


def test_a_child_that_is_to_let_others_go_first_does_so_with_its_whole_session(
    sandboxes: Sandboxes, artifacts: dict[str, Program]
) -> None:
    outcomes_of(sandboxes, run_of(replace(artifacts["4.0"], niceness=7), [body_of(0)]))

    [child] = children_of(sandboxes._zygote.pid)
    assert os.getpriority(os.PRIO_PROCESS, child) == 7
    by_session = Path(f"/proc/{child}/autogroup")
    assert not by_session.exists() or by_session.read_text().endswith(" nice 7\n")
