"""Record batches of many flows are joined, so that each flow has more messages in one."""

from hypothesis import given
from hypothesis import strategies as st

from glue_jobs.parse_lane.reading.raw_batches import MESSAGES_A_FLOW, RawBatch, joined_for_flows
from tests.unit.glue_jobs.conftest import message_of, raw_batch, record_of


def batch_of(messages: int, *, streams: int) -> RawBatch:
    some = [message_of(b"{}", stream=f"stream-{number}") for number in range(streams)]
    records = [record_of(one) for one in some]
    return raw_batch(records[number % streams] for number in range(messages))


def test_batches_of_one_flow_stay_as_they_are() -> None:
    batches = [batch_of(MESSAGES_A_FLOW, streams=1), batch_of(MESSAGES_A_FLOW, streams=1)]

    assert [one is two for one, two in zip(joined_for_flows(batches), batches, strict=True)] == [
        True,
        True,
    ]


def test_batches_of_four_flows_are_joined_until_each_has_its_messages_in_one() -> None:
    batches = [batch_of(MESSAGES_A_FLOW, streams=4) for _ in range(6)]

    joined = joined_for_flows(batches)

    assert [len(one) for one in joined] == [4 * MESSAGES_A_FLOW, 2 * MESSAGES_A_FLOW]


def test_none_is_joined_to_one_that_has_the_bytes_that_it_may_have() -> None:
    batches = [batch_of(400, streams=200) for _ in range(5)]

    joined = joined_for_flows(batches, bytes_max=batches[0].nbytes + 1)

    assert [len(one) for one in joined] == [800, 800, 400]


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(1, 5)), max_size=8))
def test_every_record_comes_once_and_in_order(sizes: list[tuple[int, int]]) -> None:
    batches = [batch_of(messages, streams=streams) for messages, streams in sizes]

    joined = [row for one in joined_for_flows(batches) for row in one.to_pylist()]

    assert joined == [row for one in batches for row in one.to_pylist()]
