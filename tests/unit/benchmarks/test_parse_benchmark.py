"""The parse benchmark counts what it says, and its plain loop does the work that it stands for."""

import json
import subprocess
import sys

from benchmarks.parse.plain_work import PlainWork, Position
from benchmarks.parse.report import report
from benchmarks.parse.trial import Trial
from benchmarks.parse.workload import EVENTS, STREAM, message, number_of
from benchmarks.running.process_tree import tree_cpu_s
from fleetlane.events.canonical import canonical_event_from
from fleetlane.events.envelope import headers_of
from fleetlane.events.metadata import parsed_from

BUSY = "import time\nwhile time.process_time() < 0.3: pass"
PARENT = f"""
import subprocess, sys
subprocess.run([sys.executable, "-c", {BUSY!r}])
print("done")
input()
"""


def trial(cpu_us: float) -> Trial:
    return Trial(cpu_us_a_message=cpu_us, messages_a_second=1e6 / cpu_us)


def test_the_time_of_a_child_that_has_ended_counts() -> None:
    command = [sys.executable, "-c", PARENT]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        cpu_s = tree_cpu_s(parent.pid)
        parent.kill()

    assert cpu_s >= 0.3


def test_a_message_becomes_ten_events_and_a_row_for_the_fleet() -> None:
    raw = message(7)

    *events, told = PlainWork(loops=0).records_of(
        headers_of(raw), raw.body, Position("raw.standard", 1, 7)
    )

    assert [json.loads(event.value)["id"] for event in events] == [
        f"{raw.raw_id}-{number}" for number in range(EVENTS)
    ]
    assert {event.topic for event in events} == {f"canonical.{STREAM}"}
    assert number_of(canonical_event_from(events[0].value).rawid) == 7
    assert (parsed_from(told.value).events, parsed_from(told.value).outcome) == (EVENTS, "parsed")


def test_ratios_are_of_medians_and_of_those_alone_that_were_measured() -> None:
    trials = {"job": [trial(90), trial(100), trial(400)], "bare": [trial(80)], "quix": [trial(500)]}

    numbers = report(trials)

    assert (numbers["ratio_to_bare"], numbers["times_quix"]) == (0.8, 5.0)
    assert "times_bytewax" not in numbers
