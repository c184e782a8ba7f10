"""What the benchmarks of the running job send, count and compute is what they say."""

import os
import subprocess
import sys
from collections import Counter
from copy import replace
from itertools import islice

import pytest

from benchmarks.backlog import by_tenth
from benchmarks.bulk.cause_traffic import record_of_bulk
from benchmarks.latency.cluster import Cores
from benchmarks.latency.percentiles import percentiles
from benchmarks.parse.plain_work import PlainWork, Position
from benchmarks.parse.workload import EVENTS, message
from benchmarks.poison import STUCK_MS, acts_in_turn, good_numbers
from benchmarks.running.behaving_parser import Behaving
from benchmarks.running.delivered import event_from
from benchmarks.running.messages import FAIL, REFUSE, message_for, record_of
from benchmarks.running.process_tree import pin_tree, tree_resident_mib
from benchmarks.running.watched import Look
from fleetlane.events.envelope import headers_of
from fleetlane.events.envelope_reading import message_from
from fleetlane.events.lanes import BulkCause, Lane
from fleetlane.parsers.contract import MalformedMessage


def test_a_message_is_read_back_as_it_was_made() -> None:
    made = message_for(7, stream="quick", lane=Lane.FAST, act=200, arrival_ms=1_800_000_000_000)

    record = record_of(made)

    assert record.topic == "raw.fast"
    assert message_from(record.headers, record.value) == made


def test_a_message_for_the_bulk_lane_is_in_its_causes_topic() -> None:
    made = replace(
        message_for(7, stream="quick", lane=Lane.BULK), bulk_cause=BulkCause.REPLAYED, revision=1
    )

    record = record_of_bulk(made)

    assert record.topic == "raw.bulk.replayed"
    assert message_from(record.headers, record.value) == made


@pytest.mark.parametrize(("act", "error"), [(REFUSE, MalformedMessage), (FAIL, ValueError)])
def test_a_parser_fails_as_its_message_says(act: str, error: type[Exception]) -> None:
    body = message_for(1, stream="good", act=act).body or b""

    with pytest.raises(error):
        list(Behaving().parse(body))


def test_a_message_that_takes_time_has_its_events_all_the_same() -> None:
    bodies = [message_for(1, stream="good", act=act).body or b"" for act in (None, 2)]

    plain, slow = (list(Behaving().parse(body)) for body in bodies)

    assert (plain, len(plain)) == (slow, EVENTS)


def test_one_message_in_five_is_poison_and_the_numbers_of_the_others_are_known() -> None:
    acts = list(islice(acts_in_turn(), 1_000))

    kinds = Counter(acts)

    assert kinds == {None: 800, REFUSE: 100, FAIL: 90, STUCK_MS: 10}
    assert len(good_numbers(acts)) == 800


def test_an_event_tells_its_message_its_place_and_its_messages_arrival() -> None:
    raw = message(12)
    *events, _ = PlainWork(loops=0).records_of(headers_of(raw), raw.body, Position("raw", 0, 0))

    read = [event_from(event.value, 99) for event in events]

    assert [(one.message, one.ordinal) for one in read] == [(12, place) for place in range(EVENTS)]
    assert {(one.arrival_ms, one.stored_ms) for one in read} == {(raw.arrival_millis, 99)}


def test_percentiles_are_of_all_latencies() -> None:
    latencies_ms = [*range(1, 100), 5_000]

    numbers = percentiles(latencies_ms)

    found = {"messages": 100, "p50_ms": 51, "p95_ms": 96, "p99_ms": 5_000}
    assert numbers == found | {"p999_ms": 5_000, "max_ms": 5_000}


def test_rates_and_memory_of_a_backlog_are_by_tenth() -> None:
    looks = [Look(at_s=at, cpu_s=0, messages=10 * at) for at in range(11)]

    numbers = by_tenth(looks, [100.0] * 9 + [150.0])

    assert numbers["messages_per_s_by_tenth"] == [10] * 10
    assert (numbers["rate_last_to_third_tenth"], numbers["memory_last_to_third_tenth"]) == (1, 1.5)


def test_a_process_is_pinned_and_its_memory_counts() -> None:
    core = min(os.sched_getaffinity(0))
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        pin_tree(process.pid, {core})
        found, resident_mib = os.sched_getaffinity(process.pid), tree_resident_mib(process.pid)
        process.kill()

    assert found == {core}
    assert resident_mib > 0


@pytest.mark.parametrize("broker", ["fast", "others", "all"])
def test_the_lanes_have_halves_and_the_broker_what_is_asked_for(broker: str) -> None:
    cores = Cores.halves(broker=broker)

    both = cores.fast | cores.others
    assert both == os.sched_getaffinity(0)
    assert cores.broker == {"fast": cores.fast, "others": cores.others, "all": both}[broker]
