"""What one owner's flows use up is no other owner's loss."""

from pathlib import Path
from typing import Final

import pytest
from msgspec.structs import replace

from fleetlane.events.envelope import PayloadReference
from fleetlane.events.flows.files import flow_from_toml
from fleetlane.events.lanes import LANE_LIMITS, PAYLOAD_BYTES_MAX, Lane
from fleetlane.parsers.sandbox.budgets import OWNER_FLOWS
from fleetlane.parsers.sandbox.canonical_records import CanonicalRecords
from fleetlane.parsers.sandbox.runs import Assignment
from glue_jobs.parse_lane.budgets import SLOW_FLOW_S_MAX, FlowBudgets
from tests.unit.glue_jobs.conftest import message_of

FLOW = flow_from_toml('stream = "gps"\nowner = "acme"\n[[parsers]]\nuse = "json"', file="t.toml")
GPS: Final = Assignment(flow=FLOW, parser="json@1", parse_s=1, uncharged_share=0)
TANK: Final = replace(GPS, flow=replace(FLOW, stream="tank"))
OTHERS: Final = replace(GPS, flow=replace(FLOW, stream="door", owner="others"))
ALL: Final = (GPS, TANK, OTHERS)


def records_of(size_bytes: int) -> CanonicalRecords:
    none = memoryview(b"")
    return CanonicalRecords(
        topics=("canonical.gps",),
        topic_indexes=none,
        key_ends=none,
        keys=none,
        value_ends=none,
        values=memoryview(bytes(size_bytes)),
    )


def test_an_owner_that_puts_out_too_much_leaves_the_batch_to_others() -> None:
    budgets = FlowBudgets(Lane.BULK, LANE_LIMITS[Lane.BULK])

    for assignment in (GPS, TANK):
        budgets.charge_output(assignment, records_of(PAYLOAD_BYTES_MAX + 1))

    assert [budgets.admitted(assignment, 1) for assignment in ALL] == [0, 0, 1]


def test_an_owner_has_the_bytes_of_one_largest_body_to_fetch() -> None:
    budgets = FlowBudgets(Lane.BULK, LANE_LIMITS[Lane.BULK])
    reference = PayloadReference(key="payloads/x", sha256="0" * 64)
    large = message_of(None, reference=reference, body_bytes=PAYLOAD_BYTES_MAX)

    refused = [budgets.is_refused(assignment, large) for assignment in ALL]

    assert refused == [False, True, False]


@pytest.mark.parametrize("is_over", [False, True])
def test_an_owner_of_many_flows_leaves_a_slow_batch_to_others(*, is_over: bool) -> None:
    budgets = FlowBudgets(Lane.SLOW, LANE_LIMITS[Lane.SLOW], is_over=is_over)

    for number in range(OWNER_FLOWS + 1):
        one = replace(GPS, flow=replace(FLOW, stream=f"gps_{number}"))
        budgets.time.charge(one, int((SLOW_FLOW_S_MAX + 1) * 1e6))

    message = message_of(b"{}")
    assert [budgets.is_refused(assignment, message) for assignment in ALL] == [True, True, False]


def test_what_puts_out_much_has_no_more_of_it_by_the_next_batch_of_the_bulk_lane() -> None:
    budgets = FlowBudgets(Lane.BULK, LANE_LIMITS[Lane.BULK])
    before = budgets.time.output.left_bytes("gps")

    budgets.time.output.charge("gps", before)
    budgets.begin_batch()

    assert budgets.time.output.left_bytes("gps") < before // 10


@pytest.mark.parametrize("lane", Lane)
def test_what_a_flow_puts_out_with_one_worker_it_has_with_none(lane: Lane, tmp_path: Path) -> None:
    one, other = (
        FlowBudgets(lane, LANE_LIMITS[lane], shared=tmp_path, monotonic=lambda: 1e6).time.output
        for _ in range(2)
    )
    before = one.left_bytes("gps")

    one.charge("gps", before)

    assert (before > 0, other.left_bytes("gps"), other.left_bytes("door")) == (True, 0, before)


@pytest.mark.parametrize("lane", [Lane.FAST, Lane.STANDARD])
def test_what_a_flow_uses_up_with_one_worker_it_has_with_none(lane: Lane, tmp_path: Path) -> None:
    workers = [
        FlowBudgets(lane, LANE_LIMITS[lane], shared=tmp_path, monotonic=lambda: 1e6)
        for _ in range(2)
    ]
    before = [one.time.may_try(GPS) for one in workers]

    workers[0].time.charge(GPS, 60_000_000)

    assert before == [True, True]
    assert [one.time.may_try(GPS) for one in workers] == [False, False]
    assert workers[1].time.may_try(OTHERS)
