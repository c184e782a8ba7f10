"""The canary's messages: in every lane, and known to whoever knows the minute."""

import json
from collections import Counter

import pytest

from fleetlane.events.canary import (
    DEVICE_ID,
    EACH_MINUTE,
    INTERVAL_MS,
    STREAMS,
    VERIFIER_ID,
    CanaryMessage,
    Route,
    messages_between,
    messages_of,
    messages_to_verify,
    slot_at,
)
from fleetlane.events.flows.files import flows_in
from fleetlane.events.lanes import INLINE_BYTES_MAX, Lane
from fleetlane.events.names import raw_id_of
from local.checkout import FLOWS

MINUTE_MS = 1_790_000_040_000


def test_each_minute_has_a_message_in_every_lane() -> None:
    lanes = {message.lane for message in messages_of(MINUTE_MS)}

    assert lanes == set(Lane)


@pytest.mark.parametrize("message", messages_of(MINUTE_MS), ids=list(EACH_MINUTE))
def test_its_id_is_the_one_that_ingest_gives_it(message: CanaryMessage) -> None:
    given = raw_id_of(
        DEVICE_ID,
        message.stream,
        message.idempotency_key,
        lambda: bytes.fromhex(message.sha256),
        dedupes_by_content=False,
    )

    assert message.raw_id == given


def test_no_two_messages_have_one_id_and_the_same_has_it_always() -> None:
    messages = list(messages_between(MINUTE_MS, MINUTE_MS + 10 * INTERVAL_MS))

    again = CanaryMessage(route=Route.FAST, slot_ms=MINUTE_MS)

    assert len({message.raw_id for message in messages}) == len(messages) == 10 * len(EACH_MINUTE)
    assert again.raw_id == messages[0].raw_id


def test_a_range_has_the_minutes_that_begin_in_it() -> None:
    slots = [one.slot_ms for one in messages_between(MINUTE_MS - 1, MINUTE_MS + INTERVAL_MS + 1)]

    assert set(slots) == {MINUTE_MS, MINUTE_MS + INTERVAL_MS}
    assert list(messages_between(MINUTE_MS + 1, MINUTE_MS + INTERVAL_MS)) == []


def test_a_time_is_in_the_slot_that_began_last() -> None:
    assert slot_at(MINUTE_MS + 59_999) == MINUTE_MS
    assert slot_at(MINUTE_MS + 19_999, interval_ms=10_000) == MINUTE_MS + 10_000


def test_its_streams_have_flows_that_declare_the_lanes_it_is_for() -> None:
    flows = flows_in(FLOWS)

    lanes = {stream: flows[stream].lane for stream in STREAMS}

    assert lanes == {"canary": Lane.FAST, "canary-slow": Lane.SLOW}


def test_its_body_is_json_with_the_time_that_its_flows_read() -> None:
    [first, *_] = messages_of(MINUTE_MS)

    assert json.loads(first.body) == {"at_ms": MINUTE_MS, "route": "fast"}


def test_ten_messages_verify_every_lane_and_both_ways_of_large_bodies() -> None:
    messages = messages_to_verify(MINUTE_MS)

    assert len({message.raw_id for message in messages}) == len(messages) == 10
    assert Counter(message.lane for message in messages) == {
        Lane.FAST: 2,
        Lane.STANDARD: 2,
        Lane.BULK: 4,
        Lane.SLOW: 2,
    }
    large = [message for message in messages if len(message.body) > INLINE_BYTES_MAX]
    assert [message.route for message in large] == [Route.LARGE, Route.UPLOADED]


def test_what_verifies_is_json_by_the_verifiers_own_device() -> None:
    messages = messages_to_verify(MINUTE_MS)

    assert all(json.loads(message.body) == message.content for message in messages)
    assert {message.device_id for message in messages} == {VERIFIER_ID}
