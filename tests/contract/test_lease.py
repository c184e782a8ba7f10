"""A lease: the place in memory and that in S3 keep the same promises."""

from collections.abc import Iterator

import pytest

from clients.s3.lease import (
    Lease,
    LeaseLostError,
    LeaseObject,
    LeasePlace,
    LeaseState,
    LeaseUnavailableError,
)
from tests.contract.aws_in_process import buckets
from tests.lease_in_memory import LeaseInMemory

BUCKET = "lease-contract"
LENGTH_S = 60.0
STATE = LeaseState(holder="a", token=1, beat=0)


class Clock:
    """Stands still, save when somebody waits."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.waits = 0

    def __call__(self) -> float:
        return self.now_s

    def wait(self, seconds: float) -> None:
        self.waits += 1
        self.now_s += seconds


@pytest.fixture(params=["memory", "moto"])
def place(request: pytest.FixtureRequest) -> Iterator[LeasePlace]:
    if request.param == "memory":
        yield LeaseInMemory()
        return
    with buckets(BUCKET) as s3:
        yield LeaseObject(s3, BUCKET, "lake")


@pytest.fixture
def clock() -> Clock:
    return Clock()


def lease_of(place: LeasePlace, clock: Clock, holder: str) -> Lease:
    return Lease(place, holder=holder, lease_s=LENGTH_S, clock_s=clock, wait=clock.wait)


def test_of_two_who_find_none_one_is_notified_that_the_other_was_faster(place: LeasePlace) -> None:
    first = place.write(STATE, replacing=None)

    second = place.write(LeaseState(holder="b", token=1, beat=0), replacing=None)

    assert (first is None, second) == (False, None)


def test_who_wants_a_lease_of_another_says_that_it_waits(place: LeasePlace, clock: Clock) -> None:
    lease_of(place, clock, "a").take()
    waits = list[bool]()

    def wait(seconds: float) -> None:
        waits.append(second.waits)
        clock.wait(seconds)

    second = Lease(place, holder="b", lease_s=LENGTH_S, clock_s=clock, wait=wait)
    before = second.waits
    second.take()

    assert (before, {*waits}, second.waits) == (False, {True}, False)


def test_only_the_version_that_was_read_is_replaced(place: LeasePlace) -> None:
    old = place.write(STATE, replacing=None)
    new = place.write(LeaseState(holder="a", token=1, beat=1), replacing=old)

    late = place.write(LeaseState(holder="b", token=2, beat=0), replacing=old)

    found = place.read()
    assert late is None
    assert found is not None
    assert (found[1], found[0].beat) == (new, 1)


def test_a_free_lease_is_taken_at_once(place: LeasePlace, clock: Clock) -> None:
    assert lease_of(place, clock, "a").take() == 1
    assert clock.waits == 0


def test_a_lease_that_is_no_longer_renewed_is_taken_after_its_length(
    place: LeasePlace, clock: Clock
) -> None:
    lease_of(place, clock, "a").take()

    token = lease_of(place, clock, "b").take()

    assert token == 2
    assert clock.now_s >= LENGTH_S


def test_who_was_overtaken_knew_before_that_it_holds_nothing(
    place: LeasePlace, clock: Clock
) -> None:
    first = lease_of(place, clock, "a")
    first.take()
    clock.now_s = LENGTH_S * 0.7

    with pytest.raises(LeaseLostError, match="a no longer holds the lease lake"):
        first.check()


def test_who_was_overtaken_cannot_renew(place: LeasePlace, clock: Clock) -> None:
    first = lease_of(place, clock, "a")
    first.take()
    lease_of(place, clock, "b").take()

    with pytest.raises(LeaseLostError):
        first.renew()
    with pytest.raises(LeaseLostError):
        first.check()


def test_a_lease_that_was_released_is_taken_at_once(place: LeasePlace, clock: Clock) -> None:
    first = lease_of(place, clock, "a")
    first.take()
    first.release()

    assert lease_of(place, clock, "b").take() == 2
    assert clock.now_s == 0


def test_who_released_it_may_write_nothing(place: LeasePlace, clock: Clock) -> None:
    lease = lease_of(place, clock, "a")
    lease.take()
    lease.release()

    with pytest.raises(LeaseLostError):
        lease.check()


def test_who_was_overtaken_releases_nothing(place: LeasePlace, clock: Clock) -> None:
    first, second = lease_of(place, clock, "a"), lease_of(place, clock, "b")
    first.take()
    second.take()
    first.release()

    second.renew()
    second.check()


def test_who_released_it_can_take_it_again(place: LeasePlace, clock: Clock) -> None:
    lease = lease_of(place, clock, "a")
    lease.take()
    lease.release()

    assert lease.take() == 2
    lease.renew()
    lease.check()


def test_a_lease_that_is_renewed_is_waited_for(place: LeasePlace, clock: Clock) -> None:
    first, renewals = lease_of(place, clock, "a"), 30
    first.take()

    def wait(seconds: float) -> None:
        clock.wait(seconds)
        if clock.waits <= renewals:
            first.renew()

    Lease(place, holder="b", lease_s=LENGTH_S, clock_s=clock, wait=wait).take()

    assert clock.waits > renewals


def test_a_write_whose_answer_was_lost_counts_when_it_is_tried_again() -> None:
    with buckets(BUCKET) as s3:
        place = LeaseObject(s3, BUCKET, "lake")
        version = place.write(STATE, replacing=None)

        again = place.write(STATE, replacing=None)

    assert again == version


class LosesOneAnswer(LeaseInMemory):
    """Takes a renewal, and does not answer; when it is tried again it has it, as S3 has."""

    def __init__(self) -> None:
        super().__init__()
        self.lost: str | None = None

    def write(self, state: LeaseState, *, replacing: str | None) -> str | None:
        if self.lost is not None:
            return self.lost
        version = super().write(state, replacing=replacing)
        if state.beat:
            self.lost = version
            raise LeaseUnavailableError(self.name, "timed out")
        return version


def test_a_lease_is_trusted_from_the_try_on_that_may_have_renewed_it(clock: Clock) -> None:
    lease = lease_of(LosesOneAnswer(), clock, "a")
    lease.take()
    with pytest.raises(LeaseUnavailableError):
        lease.renew()

    clock.now_s = LENGTH_S / 2
    lease.renew()
    lease.check()

    clock.now_s = LENGTH_S * 0.7
    with pytest.raises(LeaseLostError):
        lease.check()
