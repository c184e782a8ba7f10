"""A blocking flow stops at what it cannot parse; its query waits for an answer, and nobody else."""

import pytest

from clients.s3.blocked_messages import BlockedMessages
from fleetlane.events.errors import ParkedReason
from fleetlane.events.flows.files import PublishedFlows
from fleetlane.events.metadata import parsed_from
from fleetlane.events.topics import REROUTED_BYTES_MAX
from fleetlane.parsers.sandbox.results import Verdict
from glue_jobs.parse_lane.halting import BlockedError, DeferredError
from tests.unit.glue_jobs.blocking.conftest import (
    BLOCKING,
    OTHER,
    PARKING,
    POSITION,
    TOPIC,
    WAITING,
    Parsers,
    topics_of,
)
from tests.unit.glue_jobs.conftest import (
    NOW_MS,
    FixedFlows,
    message_of,
    raw_batch,
    record_of,
    rows_of,
)
from tests.unit.glue_jobs.test_lane_batches import BusyParsers


def test_a_good_message_of_a_blocking_flow_comes_out(parser_of: Parsers) -> None:
    assert topics_of(parser_of(BLOCKING), b"{}") == ["canonical.door", "fleet.parsed"]


def test_a_message_that_fails_stops_its_flow_and_says_why(
    parser_of: Parsers, blocked: BlockedMessages
) -> None:
    with pytest.raises(BlockedError, match="malformed"):
        topics_of(parser_of(BLOCKING), b"{nope")

    (waiting,) = blocked.waiting(TOPIC)
    assert (waiting.partition, waiting.offset, waiting.reason, waiting.blocked_ms) == (
        1,
        42,
        ParkedReason.MALFORMED,
        NOW_MS,
    )


def test_it_stops_again_until_somebody_answers_and_keeps_its_first_reason(
    parser_of: Parsers, blocked: BlockedMessages
) -> None:
    for _ in range(2):
        with pytest.raises(BlockedError):
            topics_of(parser_of(BLOCKING), b"{nope")

    assert len(blocked.waiting(TOPIC)) == 1


def test_a_message_that_is_to_be_skipped_is_parked(
    parser_of: Parsers, blocked: BlockedMessages
) -> None:
    with pytest.raises(BlockedError):
        topics_of(parser_of(BLOCKING), b"{nope")

    blocked.skip(*blocked.waiting(TOPIC))

    assert topics_of(parser_of(BLOCKING), b"{nope") == ["parked", "fleet.parsed"]


def test_an_answer_is_for_no_other_message_at_the_same_position_of_a_topic_made_anew(
    parser_of: Parsers, blocked: BlockedMessages
) -> None:
    with pytest.raises(BlockedError):
        topics_of(parser_of(BLOCKING), b"{nope")
    blocked.skip(*blocked.waiting(TOPIC))

    with pytest.raises(BlockedError):
        topics_of(parser_of(BLOCKING), b"{another")

    assert len(blocked.waiting(TOPIC)) == 1


def test_a_skipped_message_that_s3_does_not_keep_waits(
    parser_of: Parsers, blocked: BlockedMessages
) -> None:
    too_large = (("x", b"x" * REROUTED_BYTES_MAX),)
    message = message_of(b"{nope", stream="door", other_headers=too_large)
    blocked.skip(WAITING)

    with pytest.raises(DeferredError, match="payload_unavailable"):
        rows_of(parser_of(BLOCKING).outputs_of(raw_batch([record_of(message, topic=TOPIC)])))


def test_a_flow_that_blocks_no_more_parks(parser_of: Parsers, blocked: BlockedMessages) -> None:
    assert topics_of(parser_of(PARKING), b"{nope") == ["parked", "fleet.parsed"]
    assert blocked.waiting(TOPIC) == []


def test_a_skipped_message_of_a_flow_that_blocks_no_more_has_its_tries(
    parser_of: Parsers, blocked: BlockedMessages
) -> None:
    blocked.skip(WAITING)

    topics = topics_of(parser_of(PARKING, BusyParsers(Verdict.TIMEOUT)), b"{}")

    assert topics == ["raw.slow", "fleet.parsed"]


@pytest.mark.parametrize("body", [b"{}", b"{nope"])
def test_what_a_withdrawn_flow_left_in_its_topic_is_parked(
    parser_of: Parsers, blocked: BlockedMessages, body: bytes
) -> None:
    record = record_of(message_of(body, stream="door"), topic=TOPIC)

    parked, told = rows_of(parser_of(OTHER).outputs_of(raw_batch([record])))

    assert (parked.topic, parked.value) == ("parked", body)
    assert parsed_from(told.value or b"").reason == ParkedReason.NO_FLOW
    assert blocked.waiting(TOPIC) == []


BOUND = (
    BLOCKING.replace("[[parsers]]", '[devices]\ntypes = ["door-lock"]\n[[parsers]]'),
    BLOCKING + 'device_types = ["door-lock"]\n',
)


@pytest.mark.parametrize("flow", BOUND, ids=["by-flow", "by-its-rules"])
@pytest.mark.parametrize(
    ("device_type", "body"), [("toaster", b"{nope"), ("toaster", b"{}"), (None, b"{}")]
)
def test_a_device_that_a_blocking_flow_does_not_expect_cannot_stop_it(
    parser_of: Parsers, blocked: BlockedMessages, flow: str, device_type: str | None, body: bytes
) -> None:
    toaster = message_of(body, stream="door", device_type=device_type)
    lock = message_of(b"{}", stream="door", device_type="door-lock")
    records = [record_of(one, topic=TOPIC) for one in (toaster, lock)]

    rows = rows_of(parser_of(flow).outputs_of(raw_batch(records)))

    assert sorted(row.topic for row in rows) == [
        "canonical.door",
        "fleet.parsed",
        "fleet.parsed",
        "parked",
    ]
    [parked] = [row for row in rows if row.topic == "parked"]
    assert (b"unexpected_device" in {value for _, value in parked.headers or ()}, parked.value) == (
        True,
        body,
    )
    assert blocked.waiting(TOPIC) == []


@pytest.mark.parametrize("flow", BOUND, ids=["by-flow", "by-its-rules"])
def test_a_device_that_it_expects_stops_it(parser_of: Parsers, flow: str) -> None:
    lock = message_of(b"{nope", stream="door", device_type="door-lock")

    with pytest.raises(BlockedError, match="malformed"):
        rows_of(parser_of(flow).outputs_of(raw_batch([record_of(lock, topic=TOPIC)])))


class ChangingFlows(FixedFlows):
    """Another version is published after each look-up."""

    def __init__(self, *versions: str) -> None:
        super().__init__(*versions[:1])
        self._coming = [FixedFlows(flow).current() for flow in versions]

    def current(self) -> PublishedFlows:
        return self._coming.pop(0) if len(self._coming) > 1 else self._coming[0]

    def fresh(self, *, max_age_s: float) -> PublishedFlows:
        return self.current()


def test_a_message_is_judged_by_the_flow_that_it_was_parsed_by(parser_of: Parsers) -> None:
    flows = ChangingFlows(BLOCKING, PARKING)

    with pytest.raises(BlockedError, match="malformed"):
        topics_of(parser_of(flows), b"{nope")


def test_a_message_without_a_flow_is_not_looked_up_again(parser_of: Parsers) -> None:
    flows = ChangingFlows(OTHER, OTHER, BLOCKING)

    assert topics_of(parser_of(flows), b"{nope") == ["parked", "fleet.parsed"]


@pytest.mark.parametrize(
    "verdict", [Verdict.NOT_TRIED, Verdict.CUT_SHORT, Verdict.CHILDREN_USED_UP]
)
def test_a_message_that_had_no_turn_blocks_nothing(
    parser_of: Parsers, blocked: BlockedMessages, verdict: Verdict
) -> None:
    with pytest.raises(DeferredError):
        topics_of(parser_of(BLOCKING, BusyParsers(verdict)), b"{}")

    assert blocked.found(POSITION) is None
