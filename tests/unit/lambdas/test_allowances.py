import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetlane.events.lanes import INLINE_BYTES_MAX, PAYLOAD_BYTES_MAX
from fleetlane.events.overrides import RateLimits
from fleetlane.events.token_bucket import TokenBucket
from lambdas.http.rate_limiter import Allowances, RateDecision

NOW_MS = 1_790_000_000_000
MINUTE_MS = 60_000
TEN_AND_TWENTY = RateLimits(soft_per_minute=10, hard_per_minute=20)

# Allowances are whole again at: soft, hard (ms from now) -> verdict; and whole again after it.
GOLDEN = [
    ((-5_000, -5_000), "accepted", (6_000, 3_000)),
    ((0, 0), "accepted", (6_000, 3_000)),
    ((54_000, 0), "accepted", (60_000, 3_000)),
    ((54_001, 0), "diverted", (54_001, 3_000)),
    ((60_000, 0), "diverted", (60_000, 3_000)),
    ((60_000, 57_000), "diverted", (60_000, 60_000)),
    ((60_000, 57_001), "refused", (60_000, 57_001)),
    ((0, 57_001), "refused", (0, 57_001)),
    ((61_000, 61_000), "refused", (61_000, 61_000)),
]


@pytest.mark.parametrize(("before", "verdict", "after"), GOLDEN)
def test_what_was_spent_decides(
    before: tuple[int, int], verdict: str, after: tuple[int, int]
) -> None:
    allowances = _spent(before)

    decided = allowances.spend_one(TEN_AND_TWENTY, now_ms=NOW_MS)

    assert decided == verdict
    assert allowances.soft.left == pytest.approx(_spent(after).soft.left)
    assert allowances.hard.left == pytest.approx(_spent(after).hard.left)


@pytest.mark.parametrize(
    ("set_back_ms", "verdict"), [(1_000, RateDecision.REFUSED), (3_600_000, RateDecision.ACCEPTED)]
)
def test_a_clock_that_is_set_back_holds_a_device_back_for_two_minutes_at_most(
    set_back_ms: int, verdict: RateDecision
) -> None:
    before_ms = [NOW_MS + set_back_ms] * 20

    verdicts = _sent([*before_ms, NOW_MS])

    assert verdicts[-1] == verdict


@pytest.mark.parametrize(
    ("sent", "counted"),
    [
        (1, (1, 0, 0)),
        (10, (10, 0, 0)),
        (11, (10, 1, 0)),
        (20, (10, 10, 0)),
        (21, (10, 10, 1)),
        (1_000, (10, 10, 980)),
    ],
)
def test_a_minutes_worth_at_once_is_within_its_rate_limits(
    sent: int, counted: tuple[int, int, int]
) -> None:
    verdicts = _sent([NOW_MS] * sent)

    assert tuple(verdicts.count(one) for one in RateDecision) == counted


@given(st.integers(1, 600), st.integers(0, MINUTE_MS))
def test_a_device_that_keeps_to_its_soft_rate_limit_is_never_held_back(
    per_minute: int, begun_ms: int
) -> None:
    rate_limits = RateLimits(soft_per_minute=per_minute, hard_per_minute=per_minute)
    every_ms = MINUTE_MS // per_minute + 1

    verdicts = _sent([NOW_MS + begun_ms + n * every_ms for n in range(300)], rate_limits)

    assert set(verdicts) == {RateDecision.ACCEPTED}


@given(st.lists(st.integers(0, 10_000), max_size=300))
def test_in_any_minute_no_more_than_two_minutes_worth_is_taken(gaps_ms: list[int]) -> None:
    """A whole allowance at once, and what grows back while the minute goes on."""
    times_ms = [NOW_MS + sum(gaps_ms[:n]) for n in range(len(gaps_ms))]

    verdicts = _sent(times_ms)

    taken_ms = [at for at, verdict in zip(times_ms, verdicts, strict=True) if verdict != "refused"]
    assert all(sum(0 <= at - first < MINUTE_MS for at in taken_ms) <= 40 for first in taken_ms)


KIB_AND_TWO = RateLimits(
    soft_per_minute=1_000,
    hard_per_minute=1_000,
    soft_bytes_per_minute=1_024,
    hard_bytes_per_minute=2_048,
)


@pytest.mark.parametrize(
    ("bodies", "decided"),
    [
        ([512, 512, 1], [RateDecision.ACCEPTED] * 2 + [RateDecision.DIVERTED]),
        ([1_024, 1_024, 0], ["accepted", "diverted", "refused"]),
        ([5_000, 0], ["accepted", "refused"]),
        ([0] * 900, ["accepted"] * 900),
        ([300_000, 0], ["accepted", "refused"]),
        ([INLINE_BYTES_MAX, 0], ["accepted", "refused"]),
    ],
)
def test_bytes_count_as_well_as_messages(bodies: list[int], decided: list[str]) -> None:
    allowances = Allowances.full(NOW_MS)

    decisions = [
        allowances.spend_one(KIB_AND_TWO, now_ms=NOW_MS, body_bytes=body) for body in bodies
    ]

    assert decisions == decided


def test_of_a_large_body_a_quarter_counts_and_for_the_hard_limit_alone() -> None:
    rate_limits = RateLimits(soft_per_minute=1_000, hard_per_minute=1_000)
    allowances = Allowances.full(NOW_MS)

    for _ in range(2):
        allowances.spend_one(rate_limits, now_ms=NOW_MS, body_bytes=PAYLOAD_BYTES_MAX)

    assert allowances.soft_bytes.left == 60
    assert allowances.hard_bytes.left == 0


@given(st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 900)), max_size=200))
def test_in_any_minute_no_more_than_two_minutes_bytes_and_a_message_are_taken(
    sent: list[tuple[int, int]],
) -> None:
    allowances, at_ms, taken = Allowances.full(NOW_MS), NOW_MS, list[tuple[int, int]]()

    for gap_ms, body_bytes in sent:
        at_ms += gap_ms
        decision = allowances.spend_one(KIB_AND_TWO, now_ms=at_ms, body_bytes=body_bytes)
        taken += [(at_ms, body_bytes)] if decision != RateDecision.REFUSED else []

    for first, _ in taken:
        within = sum(size for at, size in taken if 0 <= at - first < MINUTE_MS)
        assert within <= 2 * KIB_AND_TWO.hard_bytes_per_minute + 900


def _spent(whole_ms: tuple[int, int]) -> Allowances:
    soft, hard = (
        TokenBucket(burst=60, per_s=1, left=min(60, 60 - ms / 1_000), at_s=NOW_MS / 1_000)
        for ms in whole_ms
    )
    full = Allowances.full(NOW_MS)
    return Allowances(soft=soft, hard=hard, soft_bytes=full.soft_bytes, hard_bytes=full.hard_bytes)


def _sent(times_ms: list[int], rate_limits: RateLimits = TEN_AND_TWENTY) -> list[RateDecision]:
    allowances = Allowances.full(times_ms[0] if times_ms else NOW_MS)
    return [allowances.spend_one(rate_limits, now_ms=now_ms) for now_ms in times_ms]
