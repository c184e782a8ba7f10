"""How far queries have read, committed to Kafka, and what they did not read before it expired."""

import re
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Final, Protocol

import orjson

from fleetlane.events.times import HOUR_MS
from fleetlane.events.topics import mirrored_group, seen_note, topic_settings
from glue_jobs.kafka.admin import Offsets, Partition

HOURS_LEFT_MAX: Final = 72
"""Raw topics keep records for as long."""

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

    def groups(self) -> Iterable[str]: ...
    def commit(self, group: str, offsets: Offsets, *, note: str) -> None: ...
    def committed(self, group: str) -> Offsets: ...
    def beginnings(self, partitions: Iterable[Partition]) -> Offsets: ...
    def at_times(self, times_ms: Mapping[Partition, int]) -> Offsets: ...


class MirroredOffsets:
    """Commits for queries what they have read, under the names of ``mirrored_group``.

    Both methods raise ``KafkaAdminError`` where Kafka does not answer.
    """

    def __init__(
        self,
        groups: Groups,
        *,
        query_names: Sequence[str],
        now_ms: Callable[[], int],
        stalled_ms: Callable[[str], int] = lambda _: 0,
        provisional: Callable[[str], Offsets | None] = lambda _: None,
    ) -> None:
        """``query_names`` are those of all queries that should run, or what theirs begin with.

        ``stalled_ms`` says how long the query of a name has made no progress, ``provisional`` how
        far one in real time is within its batch.
        """
        self._groups, self._now_ms, self._stalled_ms = groups, now_ms, stalled_ms
        self._provisional = provisional
        owned = [mirrored_group(name) for name in query_names]
        self._owned = re.compile("|".join(f"{re.escape(group)}([-.].+)?" for group in owned))
        self._read: Sequence[Offsets] = ()

    def mirror(self, queries: Sequence[Query]) -> int:
        """Commit for all queries; returns how many records expired before their query read them.

        How far a query without a batch came before is read from Kafka, and so it is for those that
        should run and do not.
        """
        read = [self._read_by(query) for query in queries]
        groups = {mirrored_group(query.name or "") for query in queries}
        owned = filter(self._owned.fullmatch, self._groups.groups())
        read += [self._groups.committed(group) for group in owned if group not in groups]
        self._read = read
        begins = self._groups.beginnings({one for offsets in read for one in offsets})
        return sum(max(0, begins.get(one, at) - at) for some in read for one, at in some.items())

    def hours_left(self) -> int:
        """In how many hours at least one record expires that its query had not read by ``mirror``.

        ``HOURS_LEFT_MAX`` if none does so soon. Whole hours, rounded down.
        """
        hours = range(HOURS_LEFT_MAX)
        return bisect_left(hours, True, key=lambda hour: self._expires_within(hour + 1))  # noqa: FBT003

    def _expires_within(self, hours: int) -> bool:
        written_ms = self._now_ms() + hours * HOUR_MS
        partitions = {one for read in self._read for one in read}
        retentions = {one: topic_settings(one[0]).retention_ms for one in partitions}
        times = {one: written_ms - kept for one, kept in retentions.items() if kept > 0}
        kept = self._groups.at_times(times)
        return any(read.get(one, at) < at for read in self._read for one, at in kept.items())

    def _read_by(self, query: Query) -> Offsets:
        group = mirrored_group(query.name or "")
        read = offsets_after(query.lastProgress) or self._groups.committed(group)
        ahead = self._provisional(query.name or "")
        if ahead is not None:
            read = {**read, **{one: max(at, read.get(one, 0)) for one, at in ahead.items()}}
        if read and query.isActive:
            stalled_ms, is_ahead = self._stalled_ms(query.name or ""), ahead is not None
            note = seen_note(self._now_ms(), stalled_ms=stalled_ms, is_provisional=is_ahead)
            self._groups.commit(group, read, note=note)
        return read


class ProvisionalOffsets:
    """By a query's name, the offset of the next record of each partition. For several threads.

    All before is done and durable, but in no checkpoint yet: after a crash it comes again.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._offsets = dict[str, Offsets]()

    def note(self, query_name: str, offsets: Offsets) -> None:
        """Take note of offsets; a query that is noted runs in real time."""
        with self._lock:
            self._offsets[query_name] = {**self._offsets.get(query_name, {}), **offsets}

    def forget(self, query_name: str) -> None:
        with self._lock:
            self._offsets.pop(query_name, None)

    def of(self, query_name: str) -> Offsets | None:
        """``None`` where the query does not run in real time."""
        with self._lock:
            return self._offsets.get(query_name)


provisional_offsets: Final = cache(ProvisionalOffsets)
"""Those of this process, which is one application."""


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
