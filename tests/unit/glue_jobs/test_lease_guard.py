"""Turns at writing the lake's tables, by a lease that another process may want."""

from clients.s3.lease import Lease
from glue_jobs.lake.upkeep import LeaseGuard
from tests.lease_in_memory import LeaseInMemory


def guard_of(place: LeaseInMemory, holder: str) -> LeaseGuard:
    return LeaseGuard(Lease(place, holder=holder, lease_s=1e6), prepare=lambda: None)


def holder_of(place: LeaseInMemory) -> tuple[str, bool]:
    assert place.found is not None
    return place.found[0].holder, place.found[0].is_free


def test_another_takes_what_was_released_without_waiting_for_its_end() -> None:
    place = LeaseInMemory()
    first, second = guard_of(place, "a"), guard_of(place, "b")
    with first.turn():
        pass
    first.release()

    with second.turn():
        assert holder_of(place) == ("b", False)


def test_a_turn_after_a_release_takes_the_lease_anew() -> None:
    place = LeaseInMemory()
    guard = guard_of(place, "a")
    with guard.turn():
        before = guard.token
    guard.release()

    with guard.turn() as check:
        check()
        assert guard.token == before + 1


def test_the_lease_of_a_turn_that_goes_on_is_not_released() -> None:
    place = LeaseInMemory()
    guard = guard_of(place, "a")

    with guard.turn() as check:
        guard.release(wait_s=0)
        check()

    assert holder_of(place) == ("a", False)


def test_what_was_never_taken_is_not_released() -> None:
    place = LeaseInMemory()

    guard_of(place, "a").release()

    assert place.found is None
