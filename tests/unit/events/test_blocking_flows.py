"""Flows that block on failure: allowed only where nobody else waits."""

import pytest

from fleetlane.events.flows.flow import topics_of
from fleetlane.events.lanes import Lane
from tests.unit.events.flow_texts import SMALLEST, read, refusal_of

BLOCKING = 'on_failure = "block"\ntopic = "stream"\n' + SMALLEST


def test_a_flow_blocks_only_where_it_says_so() -> None:
    assert (read(SMALLEST).blocks, read(BLOCKING).blocks) == (False, True)


@pytest.mark.parametrize("topic", ["", 'topic = "lane"\n', 'topic = "device_type"\n'])
def test_a_blocking_flow_without_a_topic_of_its_own_is_refused(topic: str) -> None:
    refusal = refusal_of('on_failure = "block"\n' + topic + SMALLEST)

    assert 'on_failure = "block" needs topic = "stream"' in refusal


def test_another_word_is_refused_with_those_allowed() -> None:
    refusal = refusal_of('on_failure = "stop"\n' + SMALLEST)

    assert refusal.endswith("allowed: block, park")


def test_a_blocking_flow_s_messages_land_where_no_shared_query_reads() -> None:
    flow = read(BLOCKING)

    landed = [flow.raw_topic(lane, device_type=None) for lane in Lane]

    assert landed == [f"raw.{lane}.block.thermo" for lane in Lane]
    assert set(landed) <= set(topics_of([flow]))
