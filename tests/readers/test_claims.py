"""Claims on buckets in S3, by moto in this process."""

import threading
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import pytest

from readers.claims import Claim, ClaimLostError, Claims
from tests.contract.aws_in_process import buckets

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

BUCKET: Final = "claims-of-readers"
NAME: Final = "gps/500000/0"
LEASE_S: Final = 60.0
CHANGED_MS: Final = 1_000


class Clock:
    """Stands still until it is set."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def s3() -> Iterator["S3Client"]:
    with buckets(BUCKET) as s3:
        yield s3


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ours(s3: "S3Client", clock: Clock) -> Claims:
    return claims_of("ours", s3, clock)


@pytest.fixture
def theirs(s3: "S3Client", clock: Clock) -> Claims:
    return claims_of("theirs", s3, clock)


def claims_of(reader: str, s3: "S3Client", clock: Clock) -> Claims:
    return Claims(s3, BUCKET, prefix="claims/", reader=reader, lease_s=LEASE_S, clock_s=clock)


def claimed(claims: Claims, changed_ms: int = CHANGED_MS) -> Claim:
    claim = claims.claimed(NAME, changed_ms)
    assert claim is not None
    return claim


def test_what_one_reader_holds_another_does_not_get(ours: Claims, theirs: Claims) -> None:
    claimed(ours)

    assert theirs.claimed(NAME, CHANGED_MS) is None


def test_what_is_done_is_claimed_by_nobody_until_it_changes(ours: Claims, theirs: Claims) -> None:
    with claimed(ours):
        pass

    again = [one.claimed(NAME, CHANGED_MS) for one in (ours, theirs)]

    assert (again, theirs.is_done(NAME, CHANGED_MS)) == ([None, None], True)
    assert theirs.claimed(NAME, CHANGED_MS + 1) is not None


def test_work_that_failed_is_handed_over_at_once(ours: Claims, theirs: Claims) -> None:
    with pytest.raises(LookupError), claimed(ours):
        raise LookupError

    assert (theirs.is_done(NAME, CHANGED_MS), theirs.claimed(NAME, CHANGED_MS) is None) == (
        False,
        False,
    )


def test_a_dead_readers_claim_is_free_after_the_lease(
    ours: Claims, theirs: Claims, clock: Clock
) -> None:
    claimed(ours)
    first = theirs.claimed(NAME, CHANGED_MS)
    clock.now_s = LEASE_S - 1
    before = theirs.claimed(NAME, CHANGED_MS)
    clock.now_s = LEASE_S

    assert (first, before, theirs.claimed(NAME, CHANGED_MS) is None) == (None, None, False)


def test_a_claim_that_is_renewed_stays(ours: Claims, theirs: Claims, clock: Clock) -> None:
    claim = claimed(ours)
    for now_s in range(0, 200, 20):
        clock.now_s = float(now_s)
        claim.renew()
        assert theirs.claimed(NAME, CHANGED_MS) is None


def test_who_did_not_renew_in_time_stops_before_another_begins(
    ours: Claims, theirs: Claims, clock: Clock
) -> None:
    claim = claimed(ours)
    theirs.claimed(NAME, CHANGED_MS)
    clock.now_s = LEASE_S * 2 / 3

    with pytest.raises(ClaimLostError, match=f"ours no longer holds {NAME}"):
        claim.check()


def test_who_was_overtaken_cannot_finish(ours: Claims, theirs: Claims, clock: Clock) -> None:
    claim = claimed(ours)
    theirs.claimed(NAME, CHANGED_MS)
    clock.now_s = LEASE_S
    taken_over = claimed(theirs)

    with pytest.raises(ClaimLostError), claim:
        pass

    taken_over.renew()
    assert not theirs.is_done(NAME, CHANGED_MS)


def test_of_many_who_want_one_at_once_one_gets_it(s3: "S3Client", clock: Clock) -> None:
    readers = [claims_of(f"r-{number}", s3, clock) for number in range(8)]
    got: list[Claim | None] = []
    threads = [
        threading.Thread(target=lambda one=one: got.append(one.claimed(NAME, CHANGED_MS)))
        for one in readers
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [one is None for one in got].count(False) == 1


def test_of_two_readers_of_whom_one_dies_each_bucket_is_done_once(
    ours: Claims, theirs: Claims, clock: Clock
) -> None:
    names = [f"gps/500000/{part}" for part in range(20)]
    done: Counter[str] = Counter()
    for name in names[:10]:  # by turns, until one dies in the middle of its sixth
        reader = ours if len(done) % 2 else theirs
        claim = reader.claimed(name, CHANGED_MS)
        assert claim is not None
        with claim:
            done[name] += 1
    assert ours.claimed(names[10], CHANGED_MS) is not None  # and no word of it after that

    for now_s in (0.0, LEASE_S):
        clock.now_s = now_s
        for name in names:
            if (claim := theirs.claimed(name, CHANGED_MS)) is not None:
                with claim:
                    done[name] += 1

    assert done == dict.fromkeys(names, 1)
