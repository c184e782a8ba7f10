"""How far each query has read, committed to Kafka; and what expired before it was read."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol

import orjson

from fleetlane.events.topics import mirrored_group, seen_note
from glue_jobs.kafka.admin import Offsets, Partition

_KAFKAS: Final = "KafkaV2"
"""How descriptions of Kafka sources begin; other sources have offsets of another form."""


class Progress(Protocol):
    """What Spark reports of a query's last batch."""

    @property
    def json(self) -> str: ...


class Query(Protocol):
    """The part of a streaming query that is read here."""

    @property
    def name(self) -> str | None: ...
    @property
    def isActive(self) -> bool: ...  # noqa: N802 - Spark's name
    @property
    def lastProgress(self) -> Progress | None: ...  # noqa: N802 - Spark's name


class Groups(Protocol):
    """Kafka's consumer groups and topics; ``KafkaAdmin`` is one."""

    def commit(self, group: str, offsets: Offsets, *, note: str) -> None: ...
    def committed(self, group: str) -> Offsets: ...
    def beginnings(self, partitions: Iterable[Partition]) -> Offsets: ...


class MirroredOffsets:
    """Commits for queries what they have read, under the names of ``mirrored_group``."""

    def __init__(self, groups: Groups, *, now_ms: Callable[[], int]) -> None:
        self._groups, self._now_ms = groups, now_ms

    def mirror(self, queries: Sequence[Query]) -> int:
        """Commit for all queries; returns how many records expired before their query read them.

        How far a query without a batch came before is read from Kafka.

        Raises:
            KafkaAdminError: Kafka does not answer.
        """
        return sum(self._expired(query, self._read_by(query)) for query in queries)

    def _read_by(self, query: Query) -> Offsets:
        group = mirrored_group(query.name or "")
        read = offsets_after(query.lastProgress) or self._groups.committed(group)
        if read and query.isActive:
            self._groups.commit(group, read, note=seen_note(self._now_ms()))
        return read

    def _expired(self, query: Query, read: Offsets) -> int:
        beginnings = self._groups.beginnings(read) if read else {}
        return sum(max(0, begin - read[partition]) for partition, begin in beginnings.items())


def offsets_after(progress: Progress | None) -> Offsets:
    """The offset of the next record to be read, by partition; nothing where no batch was done."""
    if progress is None:
        return {}
    offsets: dict[Partition, int] = {}
    for source in orjson.loads(progress.json)["sources"]:
        if source["description"].startswith(_KAFKAS):
            for topic, partitions in source["endOffset"].items():
                offsets |= {(topic, int(number)): at for number, at in partitions.items()}
    return offsets
