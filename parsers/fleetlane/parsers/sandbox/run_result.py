"""What comes of a run, part by part."""

from collections.abc import Sequence
from typing import NamedTuple

from fleetlane.parsers.sandbox.columns import CanonicalRecords
from fleetlane.parsers.sandbox.verdicts import Attempt


class Result(NamedTuple):
    """Attempts at some messages of a run, by their places in it, and all their records.

    Over a run every message is in exactly one result.
    """

    attempts: Sequence[tuple[int, Attempt]]
    records: CanonicalRecords


def no_records(topics: tuple[str, ...]) -> CanonicalRecords:
    none, zero = memoryview(b""), memoryview(bytes(4)).cast("i")
    return CanonicalRecords(
        topics=topics, topic_indexes=none, key_ends=zero, keys=none, value_ends=zero, values=none
    )
