import pytest

from fleetlane.events.token_bucket import TokenBucket


def test_a_bucket_is_full_at_first_and_fills_again_with_time() -> None:
    bucket = TokenBucket.full(burst=2, per_s=1, now_s=0)
    taken = [bucket.take(0) for _ in range(3)]

    later = [bucket.take(1), bucket.take(1)]

    assert (taken, later) == ([True, True, False], [True, False])


def test_a_bucket_holds_no_more_than_its_burst() -> None:
    bucket = TokenBucket.full(burst=2, per_s=1, now_s=0)

    left = bucket.left_at(1_000)

    assert left == 2


def test_an_overdraft_is_paid_back_before_anything_can_be_taken() -> None:
    bucket = TokenBucket.full(burst=2, per_s=1, now_s=0)

    bucket.overdraw(0, 5)

    assert [bucket.left_at(0), bucket.take(3), bucket.take(4)] == [-3, False, True]


def test_while_the_clock_is_behind_nothing_comes_back() -> None:
    bucket = TokenBucket.full(burst=2, per_s=1, now_s=100)
    bucket.take(100)

    left = [bucket.left_at(now_s) for now_s in (98.5, 99, 100, 100.5)]

    assert left == [1, 1, 1, 1.5]


def test_a_clock_set_back_by_more_than_it_takes_to_fill_the_bucket_starts_it_anew() -> None:
    bucket = TokenBucket.full(burst=2, per_s=1, now_s=100)
    bucket.overdraw(100, 10)

    left = bucket.left_at(97)

    assert left == 2


@pytest.mark.parametrize("parts", range(1, 1_000))
def test_a_whole_allowance_can_be_taken_in_any_number_of_equal_parts(parts: int) -> None:
    bucket = TokenBucket.full(burst=60, per_s=1, now_s=0)

    taken = [bucket.take(0, 60 / parts) for _ in range(parts + 1)]

    assert taken == [True] * parts + [False]
