"""Bodies on their way into the raw archive: one that S3 does not give stops none of the others."""

import pytest

from clients.s3.payload_bucket import PayloadUnavailableError
from fleetlane.events.lake.tables import NoBody
from glue_jobs.lake.archive import ArchivedBodies
from tests.unit.glue_jobs.conftest import MemoryBucket

DIGEST, OTHER = "a" * 64, "b" * 64


@pytest.fixture
def archived() -> MemoryBucket:
    return MemoryBucket()


@pytest.fixture
def waiting(archived: MemoryBucket) -> MemoryBucket:
    return MemoryBucket({"lake": archived})


@pytest.fixture
def reported() -> list[int]:
    return []


@pytest.fixture
def bodies(waiting: MemoryBucket, archived: MemoryBucket, reported: list[int]) -> ArchivedBodies:
    return ArchivedBodies(
        waiting=waiting, archived=archived, archived_bucket="lake", on_unavailable=reported.append
    )


def test_equal_bodies_are_one_object(
    bodies: ArchivedBodies, waiting: MemoryBucket, archived: MemoryBucket
) -> None:
    waiting.objects |= {"payloads/1": b"body", "payloads/2": b"body"}

    missed = bodies.copied([(DIGEST, "payloads/1"), (DIGEST, "payloads/2")])

    assert (missed, archived.objects) == ({}, {f"archive/{DIGEST}": b"body"})


def test_a_body_that_is_gone_is_taken_from_another_message_that_has_it(
    bodies: ArchivedBodies, waiting: MemoryBucket, archived: MemoryBucket
) -> None:
    waiting.objects["payloads/2"] = b"body"

    missed = bodies.copied([(DIGEST, "payloads/1"), (DIGEST, "payloads/2")])

    assert (missed, list(archived.objects)) == ({}, [f"archive/{DIGEST}"])


def test_what_is_gone_or_is_not_given_is_reported_and_the_others_are_copied(
    bodies: ArchivedBodies, waiting: MemoryBucket, archived: MemoryBucket, reported: list[int]
) -> None:
    waiting.objects |= {"payloads/1": b"body", "payloads/sick": b"sick"}
    waiting.unreachable.add("payloads/sick")
    gone = "c" * 64

    missed = bodies.copied(
        [(DIGEST, "payloads/1"), (OTHER, "payloads/sick"), (gone, "payloads/gone")]
    )

    assert missed == {OTHER: NoBody.PAYLOAD_UNAVAILABLE, gone: NoBody.PAYLOAD_MISSING}
    assert (list(archived.objects), reported) == ([f"archive/{DIGEST}"], [1])


def test_the_only_body_of_a_batch_does_not_stop_it_either(
    bodies: ArchivedBodies, waiting: MemoryBucket
) -> None:
    waiting.unreachable.add("payloads/sick")

    missed = bodies.copied([(OTHER, "payloads/sick")])

    assert missed == {OTHER: NoBody.PAYLOAD_UNAVAILABLE}


def test_a_batch_waits_where_s3_as_a_whole_does_not_answer(
    bodies: ArchivedBodies, waiting: MemoryBucket
) -> None:
    waiting.is_down = True

    with pytest.raises(PayloadUnavailableError):
        bodies.copied([(DIGEST, "payloads/1")])
