"""Many records at once: each has its outputs, whatever flow and parser it is for."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

import pytest

from fleetlane.events.envelope_reading import message_from
from fleetlane.events.lanes import LANE_LIMITS, Lane
from fleetlane.events.metadata import Deferral, parsed_from
from fleetlane.parsers.sandbox.budgets import TimeBudget
from fleetlane.parsers.sandbox.canonical_records import Columns
from fleetlane.parsers.sandbox.platforms import ParsesRuns
from fleetlane.parsers.sandbox.results import Attempt, Result, Verdict
from fleetlane.parsers.sandbox.runs import Loaded, Program, Run
from glue_jobs.parse_lane.budgets import FlowBudgets
from glue_jobs.parse_lane.lane_parser import LaneParser
from glue_jobs.parse_lane.reading.payloads import Payloads
from glue_jobs.parse_lane.results.output_batches import as_batch
from tests.unit.glue_jobs.conftest import (
    FLOW,
    NOW_MS,
    FixedFlows,
    MemoryBucket,
    chosen_parsers,
    message_of,
    raw_batch,
    record_of,
    rows_of,
)

OTHER_FLOW = FLOW.replace('"gps"', '"other"').replace('"gps-alarms"', '"other-alarms"')


class BusyParsers:
    """Stands for sandboxes in which no message has its turn."""

    def __init__(self, verdict: Verdict) -> None:
        self._verdict = verdict

    def parsed(self, run: Run, budget: TimeBudget, *, children_max: int = 1) -> Iterator[Result]:
        assert budget.left_us(run.assignment) > 0
        attempts = [(place, Attempt(self._verdict)) for place in range(len(run.bodies))]
        yield Result(attempts, Columns().taken(run.assignment.topics))

    def loaded(self, program: Program, owner: str) -> Loaded:
        return Loaded()

    def awake(self) -> AbstractContextManager[None]:
        return nullcontext()

    def rest(self) -> None: ...

    def jail_problems(self) -> dict[str, str]:
        return {}

    def close(self) -> None: ...


def lane_parser_of(
    sandboxes: ParsesRuns, lane: Lane = Lane.STANDARD, *, messages_max: int = 1_000
) -> LaneParser:
    bucket, limits = MemoryBucket(), replace(LANE_LIMITS[lane], messages_per_batch_max=messages_max)
    parser = LaneParser(
        budgets=FlowBudgets(lane, limits),
        parsers=chosen_parsers(FixedFlows(FLOW, OTHER_FLOW), sandboxes, limits),
        payloads=Payloads(landed=bucket, parked=bucket, parked_bucket="parked-bucket"),
        sandboxes=sandboxes,
        now_ms=lambda: NOW_MS,
    )
    parser.by_column_min = 1
    return parser


def test_messages_of_several_flows_in_one_batch_come_out_once_each(sandboxes: ParsesRuns) -> None:
    streams = ["gps", "other", "nobodys"]
    records = [
        record_of(
            message_of(b'{"n": %d}' % number, raw_id=f"1{number:032x}", stream=streams[number % 3])
        )
        for number in range(2_100)
    ]

    rows = rows_of(lane_parser_of(sandboxes).outputs_of(raw_batch(records)))

    told = [parsed_from(row.value or b"") for row in rows if row.topic == "fleet.parsed"]
    assert sorted(one.id for one in told) == [f"1{number:032x}" for number in range(len(records))]
    assert {(one.stream, str(one.outcome)) for one in told} == {
        ("gps", "parsed"),
        ("other", "parsed"),
        ("nobodys", "parked"),
    }


@pytest.mark.parametrize("lane", list(Lane))
@pytest.mark.parametrize(
    ("verdict", "put_off"),
    [
        (Verdict.NOT_TRIED, Deferral.TIME_BUDGET_USED_UP),
        (Verdict.CUT_SHORT, Deferral.TIME_BUDGET_USED_UP),
        (Verdict.CHILDREN_USED_UP, Deferral.CHILDREN_USED_UP),
    ],
)
def test_a_message_that_did_not_have_its_turn_is_deferred_and_counts_no_try(
    verdict: Verdict, put_off: Deferral, lane: Lane
) -> None:
    record = record_of(message_of(b"{}", slow_tries=2))

    diverted, told = rows_of(
        lane_parser_of(BusyParsers(verdict), lane).outputs_of(raw_batch([record]))
    )

    again = message_from(diverted.headers or (), diverted.value)
    is_over = put_off is Deferral.TIME_BUDGET_USED_UP
    over = {Lane.BULK: "raw.bulk.over.late", Lane.SLOW: "raw.slow.over"} if is_over else {}
    assert (diverted.topic, again.slow_tries, again.attempt) == (over.get(lane, "raw.slow"), 2, 2)
    parsed = parsed_from(told.value or b"")
    assert (parsed.outcome, parsed.reason, parsed.put_off) == ("diverted", None, put_off)


def test_a_flow_has_its_share_of_a_bulk_batch_that_others_are_in(sandboxes: ParsesRuns) -> None:
    streams = ["gps"] * 5 + ["other"]
    lane_parser = lane_parser_of(sandboxes, Lane.BULK, messages_max=8)

    rows = rows_of(
        lane_parser.outputs_of(
            raw_batch(record_of(message_of(b"{}", stream=stream)) for stream in streams)
        )
    )

    told = [parsed_from(row.value or b"") for row in rows if row.topic == "fleet.parsed"]
    put_off = sorted((one.stream, str(one.put_off)) for one in told)
    assert put_off == [*[("gps", "None")] * 2, *[("gps", "share_used_up")] * 3, ("other", "None")]
    assert sum(row.topic == "raw.bulk.over.late" for row in rows) == 3


def test_in_the_slow_lane_a_flow_that_fails_leaves_room_to_others(sandboxes: ParsesRuns) -> None:
    lane_parser = lane_parser_of(sandboxes, Lane.SLOW, messages_max=200)
    failing = [record_of(message_of(b"not JSON", slow_tries=1)) for _ in range(5)]
    others = record_of(message_of(b"{}", stream="other"))

    rows = rows_of(lane_parser.outputs_of(raw_batch([*failing, others])))
    alone = rows_of(lane_parser.outputs_of(raw_batch(failing)))

    told = [parsed_from(row.value or b"") for row in rows if row.topic == "fleet.parsed"]
    put_off = sorted((one.stream, str(one.put_off)) for one in told)
    assert put_off == [*[("gps", "None")] * 2, *[("gps", "share_used_up")] * 3, ("other", "None")]
    assert sum(row.topic == "raw.slow.over" for row in rows) == 3
    assert sum(row.topic == "raw.slow.over" for row in alone) == 5  # of the same batch


def test_messages_of_which_none_is_plain_are_parsed_like_others(sandboxes: ParsesRuns) -> None:
    headers = (("x", None), ("traceparent", b"00-01"))
    records = [record_of(message_of(b"{}", other_headers=headers)) for _ in range(3)]

    rows = rows_of(lane_parser_of(sandboxes).outputs_of(raw_batch(records)))

    told = [parsed_from(row.value or b"") for row in rows if row.topic == "fleet.parsed"]
    assert [one.outcome for one in told] == 3 * ["parsed"]


def test_canonical_records_become_a_batch_as_they_are() -> None:
    columns = Columns()
    columns.append_message(b"\0\1", [b"d-1/9", b"d-1/9"], [b'{"a":1}', b'{"kind":"alarm"}'])
    records = columns.taken(("canonical.gps", "canonical.gps-alarms"))

    batch = as_batch(records)

    batch.validate(full=True)
    rows = [(row["topic"], row["key"], row["value"]) for row in batch.to_pylist()]
    assert rows == [tuple(record) for record in records]
    assert [topic for topic, _, _ in rows] == ["canonical.gps", "canonical.gps-alarms"]


def test_each_flows_messages_are_reported_by_its_own_name(sandboxes: ParsesRuns) -> None:
    streams = {f"1{number:032x}": "other" if number % 3 else "gps" for number in range(7)}
    records = [
        record_of(message_of(b"{}", raw_id=raw_id, stream=stream))
        for raw_id, stream in streams.items()
    ]

    outputs = lane_parser_of(sandboxes).outputs_of(raw_batch(records))

    (told,) = (one for one in outputs if rows_of([one])[0].topic == "fleet.parsed")
    parsed = [parsed_from(row.value or b"") for row in rows_of([told])]
    assert {one.id: one.stream for one in parsed} == streams


def test_in_the_slow_lane_a_flows_messages_are_reported_before_the_next_flows_are_tried(
    sandboxes: ParsesRuns,
) -> None:
    records = [record_of(message_of(b"{}", stream=stream)) for stream in ("gps", "other")]

    outputs = lane_parser_of(sandboxes, Lane.SLOW).outputs_of(raw_batch(records))

    topics = [rows_of([output])[0].topic for output in outputs if len(output)]
    assert topics == ["canonical.gps", "fleet.parsed", "canonical.other", "fleet.parsed"]
