"""A small body that becomes much, inflated or as events: it holds up nobody, and is not lost."""

import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import shake_128

import pytest
from backports import zstd

from fleetlane.events.envelope import Message
from fleetlane.events.envelope_reading import message_from
from fleetlane.events.lanes import LANE_LIMITS, Lane
from fleetlane.events.metadata import Parsed, parsed_from
from fleetlane.parsers.sandbox.platforms import ParsesRuns
from glue_jobs.parse_lane.budgets import FlowBudgets
from glue_jobs.parse_lane.lane_parser import LaneParser
from glue_jobs.parse_lane.parsers.choices import ChosenParser
from glue_jobs.parse_lane.parsers.chosen_parsers import ChosenParsers
from glue_jobs.parse_lane.reading.payloads import Payloads
from glue_jobs.parse_lane.results.output_batches import OutputRecord
from tests.unit.glue_jobs.conftest import (
    NOW_MS,
    FixedFlows,
    MemoryBucket,
    chosen_parsers,
    message_of,
    raw_batch,
    record_of,
    rows_of,
)

LARGE = "raw.bulk.large"
FLOW = """
stream = "{stream}"
owner = "acme"
[[parsers]]
use = "json"
"""
BOMB = zstd.compress(bytes(64 << 20))
EVENTS = zstd.compress(b"[" + b",".join([b"{}"] * 100_000) + b"]")
MUCH = zstd.compress(
    json.dumps([{"n": n * 7_919 % 6_007, "text": "x" * 100} for n in range(6_000)]).encode()
)

type Lanes = Callable[[Lane], LaneParser]


@pytest.fixture
def lanes(sandboxes: ParsesRuns) -> Lanes:
    def made(lane: Lane) -> LaneParser:
        return lane_of(FlowBudgets(lane, LANE_LIMITS[lane]), sandboxes)[0]

    return made


def lane_of(budgets: FlowBudgets, sandboxes: ParsesRuns) -> tuple[LaneParser, ChosenParsers]:
    """A lane parser with two flows, which limit nothing themselves."""
    flows = FixedFlows(*(FLOW.format(stream=stream) for stream in ("gps", "tank")))
    parsers = chosen_parsers(flows, sandboxes, LANE_LIMITS[budgets.lane])
    bucket = MemoryBucket()
    lane_parser = LaneParser(
        budgets=budgets,
        parsers=parsers,
        payloads=Payloads(landed=bucket, parked=bucket, parked_bucket="parked"),
        sandboxes=sandboxes,
        now_ms=lambda: NOW_MS,
    )
    return lane_parser, parsers


def zstd_message(body: bytes, **changes: object) -> Message:
    return message_of(body, body_encoding="zstd", **changes)


def numbered(messages: Iterable[Message]) -> list[Message]:
    return [
        message_of(one.body, raw_id=f"1{place:032x}", **_kept(one))
        for place, one in enumerate(messages)
    ]


def _kept(message: Message) -> dict[str, object]:
    return {"stream": message.stream, "body_encoding": message.body_encoding}


def rows_by_topic(lane: LaneParser, messages: Sequence[Message]) -> Mapping[str, int]:
    return Counter(row.topic for row in rows_after(lane, messages))


def rows_after(lane: LaneParser, messages: Sequence[Message]) -> list[OutputRecord]:
    return rows_of(lane.outputs_of(raw_batch(record_of(one) for one in messages)))


def told_of(rows: Iterable[OutputRecord]) -> list[Parsed]:
    """What is reported of messages, in the order of their ids."""
    told = (parsed_from(row.value or b"") for row in rows if row.topic == "fleet.parsed")
    return sorted(told, key=lambda one: one.id)


@pytest.mark.parametrize("lane", [Lane.FAST, Lane.STANDARD])
def test_a_bomb_goes_on_from_a_quick_lane_to_the_bulk_lane_as_it_came(
    lanes: Lanes, lane: Lane
) -> None:
    large, told = rows_after(lanes(lane), [zstd_message(BOMB)])

    again, parsed = message_from(large.headers or (), large.value), parsed_from(told.value or b"")
    assert (large.topic, large.value, again.bulk_cause) == (LARGE, BOMB, "large")
    assert (again.attempt, again.body_encoding) == (2, "zstd")
    assert (parsed.outcome, parsed.put_off) == ("diverted", "too_large_for_lane")
    assert parsed.reason is None


@pytest.mark.parametrize("lane", [Lane.BULK, Lane.SLOW])
def test_a_bomb_is_parked_where_the_last_limits_are(lanes: Lanes, lane: Lane) -> None:
    parked, told = rows_after(lanes(lane), [zstd_message(BOMB)])

    detail = (dict(parked.headers or ())["ce_parkeddetail"] or b"").decode()
    assert (parked.topic, parked.value) == ("parked", BOMB)
    assert parsed_from(told.value or b"").reason == "too_large"
    assert detail == (f"zstd body inflates to more than {10_000 * len(BOMB)} bytes, the limit")


def test_twenty_bombs_cost_a_batch_of_the_fast_lane_no_tenth_of_a_second(lanes: Lanes) -> None:
    bombs, others = [zstd_message(BOMB)] * 20, [message_of(b"{}", stream="tank")] * 20
    batch = numbered(one for pair in zip(bombs, others, strict=True) for one in pair)

    told = told_of(rows_after(lanes(Lane.FAST), batch))

    assert [one.outcome for one in told] == ["diverted", "parsed"] * 20
    assert sum(one.parse_us for one in told) < 100_000
    assert not any(one.inflated_bytes for one in told[::2])


@pytest.mark.parametrize("lane", [Lane.FAST, Lane.STANDARD])
def test_a_few_bytes_become_no_hundred_thousand_events_in_any_lane(
    lanes: Lanes, lane: Lane
) -> None:
    quick, bulk, slow = (
        rows_by_topic(lanes(one), [zstd_message(EVENTS)]) for one in (lane, Lane.BULK, Lane.SLOW)
    )

    assert len(EVENTS) < 64
    assert quick == {LARGE: 1, "fleet.parsed": 1}
    assert bulk == slow == {"parked": 1, "fleet.parsed": 1}


def test_a_body_that_is_too_large_for_the_fast_lane_alone_is_parsed_in_the_standard_lane(
    lanes: Lanes,
) -> None:
    text = shake_128(b"noise").hexdigest(400_000)
    body = json.dumps({"text": text}).encode().ljust(5 << 20)

    told = [
        told_of(rows_after(lanes(one), [zstd_message(zstd.compress(body))]))[0]
        for one in (Lane.FAST, Lane.STANDARD)
    ]

    assert [(one.outcome, one.put_off, one.inflated_bytes) for one in told] == [
        ("diverted", "too_large_for_lane", 0),
        ("parsed", None, len(body)),
    ]


def test_a_flow_that_uses_up_its_output_has_its_other_messages_parsed_in_their_lane(
    lanes: Lanes,
) -> None:
    much, little = zstd_message(MUCH), message_of(b"{}")
    others = [message_of(b"{}", stream="tank"), zstd_message(MUCH, stream="tank")]

    told = told_of(rows_after(lanes(Lane.FAST), numbered([*[much, little] * 6, *others])))

    much_told, little_told, others_told = told[:12:2], told[1:12:2], told[12:]
    assert [one.put_off for one in much_told] == [None] * 2 + ["share_used_up"] * 4
    assert {one.outcome for one in [*little_told, *others_told]} == {"parsed"}


def test_in_the_slow_lane_what_a_flow_puts_out_beyond_its_budget_goes_to_what_is_over(
    lanes: Lanes,
) -> None:
    body = gzip.compress(json.dumps([{"text": "x" * 800_000}] * 50).encode())
    most = message_of(body, body_encoding="gzip")

    rows = rows_after(lanes(Lane.SLOW), numbered([most] * 3))

    assert [one.put_off for one in told_of(rows)] == [None, "share_used_up", "share_used_up"]
    assert [row.topic for row in rows if row.topic.startswith("raw.")] == ["raw.slow.over"] * 2


def lane_after(charged_us: int, budgets: FlowBudgets, sandboxes: ParsesRuns) -> LaneParser:
    """A lane whose flow has used so much of its time."""
    lane, parsers = lane_of(budgets, sandboxes)
    chosen = parsers.chosen(message_of(b"{}"))
    assert isinstance(chosen, ChosenParser)
    budgets.time.charge(chosen.assignment, charged_us)
    return lane


def test_what_exceeds_its_budget_where_all_are_over_goes_to_the_slow_lane(
    sandboxes: ParsesRuns,
) -> None:
    budgets = FlowBudgets(Lane.BULK, LANE_LIMITS[Lane.BULK], is_over=True)
    lane = lane_after(10_000_000, budgets, sandboxes)

    rows = rows_after(lane, numbered([message_of(b"{}")]))

    assert [row.topic for row in rows] == ["raw.slow", "fleet.parsed"]


def test_what_exceeds_its_time_where_all_are_over_in_the_slow_lane_has_its_turn_in_a_later_batch(
    sandboxes: ParsesRuns,
) -> None:
    budgets = FlowBudgets(Lane.SLOW, LANE_LIMITS[Lane.SLOW], is_over=True)
    lane = lane_after(1 << 62, budgets, sandboxes)

    batches = [rows_after(lane, numbered([message_of(b"{}", attempt=2)]))]
    lane.begin_batch()
    batches.append(rows_after(lane, numbered([message_of(b"{}", attempt=2)])))

    topics = [[row.topic for row in rows] for rows in batches]
    assert topics == [["raw.slow.over", "fleet.parsed"], ["canonical.gps", "fleet.parsed"]]


def test_a_flow_whose_time_is_used_up_is_diverted_before_its_bodies_are_inflated(
    sandboxes: ParsesRuns,
) -> None:
    budgets = FlowBudgets(Lane.FAST, LANE_LIMITS[Lane.FAST])
    lane = lane_after(10_000_000, budgets, sandboxes)

    told = told_of(rows_after(lane, numbered([zstd_message(MUCH)] * 10)))

    assert {one.put_off for one in told} == {"overtime_used_up"}
    assert sum(one.parse_us + one.inflated_bytes for one in told) == 0
