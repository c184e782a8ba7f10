"""Bodies by reference: several fetched at once, in bounded memory, each given in its place."""

import threading
from contextlib import closing
from hashlib import sha256

import pytest

from clients.s3.payload_bucket import PayloadMissingError, PayloadUnavailableError
from fleetlane.events.envelope import Message, PayloadReference
from fleetlane.events.lanes import Lane
from fleetlane.events.metadata import Deferral, parsed_from
from glue_jobs.parse_lane.reading.payloads import FETCHES_MAX, FetchAhead, Payloads
from tests.unit.glue_jobs.conftest import MemoryBucket, message_of, raw_batch, rows_of
from tests.unit.glue_jobs.test_lane_parser import Lanes, record_by_reference

WAIT_S = 30
BODY_BYTES = 100


class MeetingPlace:
    """Gives bodies once so many fetches are under way at the same time."""

    def __init__(self, parties: int) -> None:
        self._barrier = threading.Barrier(parties)

    def fetched(self, reference: PayloadReference, *, body_bytes: int) -> bytes:
        self._barrier.wait(WAIT_S)
        return reference.key.encode()


class CountedFetches:
    """Notes what was asked for; gives a body of the size that was asked for."""

    def __init__(self) -> None:
        self.asked = list[str]()

    def fetched(self, reference: PayloadReference, *, body_bytes: int) -> bytes:
        self.asked.append(reference.key)
        if reference.key == "missing":
            raise PayloadMissingError(reference.key)
        return bytes(body_bytes)


class RecoveringBucket(MemoryBucket):
    """Fails so many times, then gives what it has."""

    def __init__(self, failures: int) -> None:
        super().__init__()
        self.failures = failures

    def get(self, reference: PayloadReference, *, body_bytes: int, bytes_max: int) -> bytes:
        if self.failures:
            self.failures -= 1
            raise PayloadUnavailableError(reference.key, "HTTP 503")
        return super().get(reference, body_bytes=body_bytes, bytes_max=bytes_max)


def by_reference(key: str, body_bytes: int = BODY_BYTES) -> Message:
    reference = PayloadReference(key=key, sha256="0" * 64)
    return message_of(None, reference=reference, body_bytes=body_bytes)


def test_several_bodies_are_fetched_at_once_and_come_in_order() -> None:
    messages = [(number, by_reference(f"p{number}")) for number in range(3 * FETCHES_MAX)]
    ahead = FetchAhead(MeetingPlace(FETCHES_MAX).fetched)

    bodies = [(one.it, one.body()) for one in ahead.in_order(messages)]

    assert bodies == [(number, f"p{number}".encode()) for number in range(3 * FETCHES_MAX)]


def test_bodies_that_nobody_took_have_at_most_so_many_bytes() -> None:
    fetches = CountedFetches()
    ahead = FetchAhead(fetches.fetched, bytes_max=3 * BODY_BYTES)
    asked = []

    for one in ahead.in_order([(None, by_reference(str(number))) for number in range(10)]):
        one.body()
        asked.append(len(fetches.asked))

    assert all(count <= taken + 3 for taken, count in enumerate(asked))


def test_a_body_larger_than_all_memory_there_is_for_them_is_fetched_alone() -> None:
    fetches = CountedFetches()
    ahead = FetchAhead(fetches.fetched, bytes_max=BODY_BYTES)
    messages = [(None, by_reference("a", 10 * BODY_BYTES)), (None, by_reference("b"))]

    with closing(ahead.in_order(messages)) as in_order:
        body = next(in_order).body()
        asked = list(fetches.asked)

    assert (len(body), asked) == (10 * BODY_BYTES, ["a"])


def test_a_body_that_fails_is_reported_in_its_place_and_no_other_suffers() -> None:
    messages = [(None, by_reference(key)) for key in ("a", "missing", "b")]
    first, second, third = FetchAhead(CountedFetches().fetched).in_order(messages)

    with pytest.raises(PayloadMissingError):
        second.body()

    assert len(first.body()) == len(third.body()) == BODY_BYTES


def test_a_body_that_came_with_its_message_is_not_fetched() -> None:
    fetches = CountedFetches()
    messages = [(None, message_of(b"here")), (None, None)]

    bodies = [one.body() for one in FetchAhead(fetches.fetched).in_order(messages)]

    assert (bodies, fetches.asked) == ([b"here", b""], [])


@pytest.mark.parametrize(("failures", "comes"), [(1, True), (2, False)])
def test_a_body_that_cannot_be_reached_is_asked_for_once_more(failures: int, comes: bool) -> None:  # noqa: FBT001 - pytest passes parameters by name
    bucket = RecoveringBucket(failures)
    reference = bucket.put("p", b"body", sha256(b"body").hexdigest())
    payloads = Payloads(landed=bucket, parked=bucket, parked_bucket="parked")

    try:
        came = payloads.fetched(reference, body_bytes=4) == b"body"
    except PayloadUnavailableError:
        came = False

    assert came is comes


def test_a_message_whose_body_cannot_be_reached_is_deferred_and_those_behind_it_come_out(
    lane_parser: Lanes, payload_bucket: MemoryBucket
) -> None:
    payload_bucket.objects |= {f"payloads/{number}": b"{}" for number in range(20)}
    payload_bucket.unreachable.add("payloads/0")
    records = [record_by_reference(b"{}", key=f"payloads/{number}") for number in range(20)]

    rows = rows_of(lane_parser(Lane.STANDARD).outputs_of(raw_batch(records)))

    told = [parsed_from(row.value or b"") for row in rows if row.topic == "fleet.parsed"]
    assert [one.put_off for one in told].count(Deferral.PAYLOAD_UNAVAILABLE) == 1
    assert [str(one.outcome) for one in told].count("parsed") == 19
