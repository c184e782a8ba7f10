"""What messages become, inflated and as events: limited, charged, and the same as if sent plain."""

import gzip
import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace

import msgspec
import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from fleetlane.events.lanes import GrowthLimits
from fleetlane.parsers.sandbox.budgets import OutputBudget, TimeBudget
from fleetlane.parsers.sandbox.child.charge import Growth
from fleetlane.parsers.sandbox.in_process import InProcess
from fleetlane.parsers.sandbox.platforms import ParsesRuns
from fleetlane.parsers.sandbox.results import OverLimitError, Verdict
from fleetlane.parsers.sandbox.runs import EVENT_BYTES, USUAL_BYTES, USUAL_RATIO, EncodedBody, Run
from fleetlane.parsers.sandbox.worker.sandboxes import Sandboxes
from tests.unit.parsers.sandbox.conftest import Outcomes, no_time_limit, program, run_of

ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "zstd": zstd.compress,
}
JSON = program("json", None)

limits = st.builds(
    GrowthLimits,
    inflated_bytes_max=st.integers(1, 1 << 20),
    inflated_ratio_max=st.integers(1, 10_000),
    are_last=st.booleans(),
)


def compressed(run: Run, encodings: Sequence[str | None]) -> Run:
    """The same run with bodies as a device that declares such an encoding sends them."""
    bodies = [
        body if name is None else ENCODERS[name](body)
        for body, name in zip(run.bodies, encodings, strict=True)
    ]
    named = {place: name for place, name in enumerate(encodings) if name is not None}
    return replace(run, bodies=bodies, encodings=named)


def growing(run: Run, growth: GrowthLimits) -> Run:
    return replace(run, assignment=msgspec.structs.replace(run.assignment, growth=growth))


@pytest.mark.parametrize("kind", [Sandboxes, InProcess])
def test_compressed_bodies_give_the_records_that_plain_ones_give(
    kind: Callable[[], ParsesRuns],
) -> None:
    plain = run_of(JSON, [b'[{"n": %d}, {"n": 2}]' % number for number in range(1_500)])
    encodings = [[None, "gzip", "deflate", "zstd"][number % 4] for number in range(1_500)]
    parses = kind()

    results = [
        list(parses.parsed(run, no_time_limit())) for run in (plain, compressed(plain, encodings))
    ]
    parses.close()

    records = [[record for one in some for record in one.records] for some in results]
    sizes = {place: one.inflated_bytes for some in results[1] for place, one in some.attempts}
    assert records[0] == records[1]
    assert sizes == {
        place: 0 if encodings[place] is None else len(body)
        for place, body in enumerate(plain.bodies)
    }


@pytest.mark.parametrize("kind", [Sandboxes, InProcess])
@pytest.mark.parametrize(
    ("growth", "verdict"),
    [
        (GrowthLimits(inflated_bytes_max=1 << 18), Verdict.TOO_LARGE),
        (GrowthLimits(inflated_ratio_max=100, are_last=False), Verdict.TOO_LARGE_FOR_LANE),
    ],
)
def test_a_bomb_among_good_messages_is_the_only_one_that_is_not_parsed(
    kind: Callable[[], ParsesRuns], growth: GrowthLimits, verdict: Verdict
) -> None:
    run = compressed(run_of(JSON, [b"{}", bytes(1 << 20), b"{}"]), ["gzip", "zstd", None])
    parses = kind()

    outcomes = Outcomes(run, parses.parsed(growing(run, growth), no_time_limit()))
    parses.close()

    assert outcomes.verdicts == {0: Verdict.OK, 1: verdict, 2: Verdict.OK}


@pytest.mark.parametrize(
    ("body", "encoding", "detail"),
    [(b"no gzip", "gzip", "not gzip"), (b"x", "br", "allowed: gzip, deflate, zstd")],
)
def test_a_body_that_cannot_be_inflated_is_malformed(
    sandboxes: Sandboxes, body: bytes, encoding: str, detail: str
) -> None:
    run = replace(run_of(JSON, [body]), encodings={0: encoding})

    outcomes = Outcomes(run, sandboxes.parsed(run, no_time_limit()))

    assert outcomes.verdicts == {0: Verdict.MALFORMED}
    assert detail in outcomes.details[0]


@pytest.mark.parametrize("kind", [Sandboxes, InProcess])
def test_a_flow_s_output_budget_holds_within_one_request(kind: Callable[[], ParsesRuns]) -> None:
    much = json.dumps([{"text": "x" * 500}] * 4_000).encode()
    run = compressed(run_of(JSON, [much, b"{}"] * 20), ["gzip", None] * 20)
    budget = TimeBudget(flow_s_max=1e6, output=OutputBudget(flow_bytes_max=15 << 20))
    parses = kind()

    outcomes = Outcomes(run, parses.parsed(run, budget))
    parses.close()

    verdicts = [outcomes.verdicts[place] for place in range(40)]
    assert verdicts[::2] == [Verdict.OK] * 2 + [Verdict.SHARE_USED_UP] * 18
    assert verdicts[1::2] == [Verdict.OK] * 20
    assert budget.output.left_bytes("gps") < 5 << 20
    assert budget.output.left_bytes("tank") == 15 << 20


@given(limits, st.integers(0, 1 << 20), st.integers(0, 1 << 18), st.sampled_from(list(ENCODERS)))
def test_a_body_inflates_to_no_more_than_its_limits_and_its_flow_s_budget(
    growth_limits: GrowthLimits, size_bytes: int, left_bytes: int, encoding: str
) -> None:
    data = ENCODERS[encoding](bytes(size_bytes))
    growth = Growth(growth_limits, left_bytes=left_bytes)
    limit = growth_limits.inflated_bytes_of(len(data))
    usual = USUAL_BYTES + USUAL_RATIO * len(data)

    try:
        verdict = Verdict.OK
        growth.inflated_body(EncodedBody(data, encoding, 7))
    except OverLimitError as problem:
        verdict = problem.verdict

    expected = Verdict.OK
    if size_bytes > min(limit, usual + left_bytes):
        over = Verdict.TOO_LARGE if growth_limits.are_last else Verdict.TOO_LARGE_FOR_LANE
        expected = Verdict.SHARE_USED_UP if usual + left_bytes < limit else over
    assert verdict is expected
    assert growth.inflated == ({7: size_bytes} if verdict is Verdict.OK else {})
    assert growth.charged_bytes == (max(0, size_bytes - usual) if verdict is Verdict.OK else 0)


@pytest.mark.parametrize("kind", [Sandboxes, InProcess])
@pytest.mark.parametrize(
    ("are_last", "verdict"), [(True, Verdict.TOO_MANY_EVENTS), (False, Verdict.TOO_LARGE_FOR_LANE)]
)
def test_a_small_body_becomes_no_more_events_than_it_has_bits_beyond_a_thousand(
    kind: Callable[[], ParsesRuns], verdict: Verdict, *, are_last: bool
) -> None:
    bodies = [b"[%b]" % b",".join([b"{}"] * events) for events in (1_000, 1_001, 1_001)]
    run = compressed(run_of(JSON, bodies), ["zstd", "zstd", None])
    parses = kind()

    outcomes = Outcomes(
        run, parses.parsed(growing(run, GrowthLimits(are_last=are_last)), no_time_limit())
    )
    parses.close()

    assert outcomes.verdicts == {0: Verdict.OK, 1: verdict, 2: Verdict.OK}
    assert not are_last or "more than 1000 events of" in outcomes.details[1]


@given(st.integers(0, 1 << 22), st.integers(0, 20_000), st.integers(0, 1 << 17))
def test_what_a_message_puts_out_is_charged_beyond_what_is_usual(
    total_bytes: int, events: int, received_bytes: int
) -> None:
    growth = Growth(GrowthLimits(), left_bytes=1 << 40)

    growth.charge(total_bytes, events, received_bytes=received_bytes)

    grown = total_bytes + events * EVENT_BYTES
    assert growth.charged_bytes == max(0, grown - USUAL_BYTES - USUAL_RATIO * received_bytes)


def test_time_gives_a_flow_its_output_back_and_a_batch_that_of_all() -> None:
    now_s = [0.0]
    budget = OutputBudget(
        flow_bytes_max=100, batch_bytes_max=150, regained_bytes_per_s=10, monotonic=lambda: now_s[0]
    )
    budget.charge("gps", 100)
    budget.charge("tank", 60)
    at_once = [budget.left_bytes(stream) for stream in ("gps", "tank", "door")]

    budget.begin_batch()
    now_s[0] = 3.0
    later = [budget.left_bytes(stream) for stream in ("gps", "tank", "door")]

    assert (at_once, later) == ([0, 0, 0], [30, 70, 100])


def test_a_flow_whose_child_reports_too_much_takes_nothing_of_the_others() -> None:
    budget = OutputBudget(flow_bytes_max=100, batch_bytes_max=400)

    for _ in range(10):
        budget.charge("gps", 1 << 61)

    assert [budget.left_bytes(stream) for stream in ("gps", "tank")] == [0, 100]


def test_a_flow_that_puts_out_more_than_its_budget_waits_until_it_has_some_again() -> None:
    now_s = [0.0]
    budget = OutputBudget(flow_bytes_max=100, regained_bytes_per_s=10, monotonic=lambda: now_s[0])
    charged = []
    for _ in range(3):
        budget.charge("gps", 90)
        charged.append(budget.is_overdrawn("gps"))

    now_s[0] = 8.0

    assert charged == [False, False, True]
    assert (budget.is_overdrawn("gps"), budget.is_overdrawn("tank")) == (False, False)


def test_the_messages_of_a_flow_that_is_overdrawn_are_not_tried(sandboxes: Sandboxes) -> None:
    run = run_of(JSON, [b"{}"] * 3)
    budget = TimeBudget(flow_s_max=1e6, output=OutputBudget(flow_bytes_max=1))
    for _ in range(3):
        budget.output.charge("gps", 1)

    outcomes = Outcomes(run, sandboxes.parsed(run, budget))

    assert set(outcomes.verdicts.values()) == {Verdict.SHARE_USED_UP}
