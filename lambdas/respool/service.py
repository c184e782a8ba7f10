"""One run of respool: what waits in the spool goes to Kafka, the oldest minute first."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final, Protocol

from clients.kafka.producer import NotDurableError, RecordRefusedError
from clients.kafka.producer_record import ProducerRecord
from clients.s3.spool import SpoolUnavailableError, SpoolUnreadableError, Waiting
from fleetlane.events.envelope import KafkaPosition

_READERS: Final = 16


class Spool(Protocol):
    """Where objects wait; ``clients.s3.spool.Spool`` is one."""

    def waiting(self) -> Iterator[Waiting]: ...

    def get(self, key: str) -> list[ProducerRecord] | None: ...

    def delete(self, keys: Sequence[str]) -> None: ...


class Producer(Protocol):
    """Kafka; ``clients.kafka.producer.KafkaProducer`` is one."""

    def land_all(
        self, records: Sequence[ProducerRecord]
    ) -> list[KafkaPosition | NotDurableError]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The bounds of a run, and of what is read and landed at a time."""

    seconds: float = 40.0
    objects: int = 100_000
    objects_at_a_time: int = 250
    bytes_at_a_time: int = 16 << 20


@dataclass(slots=True, kw_only=True)
class Report:
    """What a run did. ``oldest_since_ms`` is since when the oldest object waits that is left.

    ``unreadable`` objects are left where they are, and told apart; so are those that Kafka
    refuses, such as for a topic that does not exist. ``problem`` is what ended the run too soon.
    """

    objects: int = 0
    records: int = 0
    oldest_since_ms: int | None = None
    unreadable: list[SpoolUnreadableError] = field(default_factory=list)
    refused: int = 0
    problem: str | None = None

    def left(self, one: Waiting) -> None:
        """Take note of an object that stays."""
        if self.oldest_since_ms is None or one.since_ms < self.oldest_since_ms:
            self.oldest_since_ms = one.since_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Respool:
    """All that a run needs. ``clock_s`` gives seconds that only grow."""

    spool: Spool
    producer: Producer
    limits: Limits
    clock_s: Callable[[], float]

    def run(self) -> Report:
        """Land what waits, and delete each object after Kafka confirmed all that is in it.

        Ends when nothing is left, when a limit is reached, or when Kafka or S3 fails: the next run
        goes on. What is landed and not deleted, by a crash in between, is landed again with the
        ids it had.
        """
        report, until_s = Report(), self.clock_s() + self.limits.seconds
        try:
            for some in self._pieces():
                if report.problem is None and self._has_time(report, until_s):
                    self._redrive(some, report)
                else:
                    report.left(some[0])
                    break
        except SpoolUnavailableError as problem:
            report.problem = str(problem)
        return report

    def _has_time(self, report: Report, until_s: float) -> bool:
        return self.clock_s() < until_s and report.objects < self.limits.objects

    def _pieces(self) -> Iterator[list[Waiting]]:
        """What waits, so much as may be held at a time; one object first, to see if it goes."""
        piece: list[Waiting] = []
        piece_bytes, objects_max = 0, 1
        for one in self.spool.waiting():
            is_full = piece_bytes + one.object_bytes > self.limits.bytes_at_a_time
            if piece and (is_full or len(piece) >= objects_max):
                yield piece
                piece, piece_bytes, objects_max = [], 0, self.limits.objects_at_a_time
            piece.append(one)
            piece_bytes += one.object_bytes
        if piece:
            yield piece

    def _redrive(self, some: Sequence[Waiting], report: Report) -> None:
        """Land one piece; its objects are confirmed, or stay, each by itself."""
        read = self._read(some, report)
        places = iter(self.producer.land_all([record for _, one in read for record in one]))
        confirmed: list[str] = []
        failures: list[NotDurableError] = []
        for waiting, records in read:
            failed = [
                place
                for place in [next(places) for _ in records]
                if isinstance(place, NotDurableError)
            ]
            failures += failed
            if failed:
                report.left(waiting)
            else:
                confirmed.append(waiting.key)
                report.records += len(records)
        self.spool.delete(confirmed)
        report.objects += len(confirmed)
        report.refused += sum(isinstance(one, RecordRefusedError) for one in failures)
        outage = next((one for one in failures if not isinstance(one, RecordRefusedError)), None)
        if outage is not None:
            report.problem = str(outage)

    def _read(
        self, some: Sequence[Waiting], report: Report
    ) -> list[tuple[Waiting, list[ProducerRecord]]]:
        """Read objects, several at a time; leaves out those that are gone or unreadable."""
        read: list[tuple[Waiting, list[ProducerRecord]]] = []
        with ThreadPoolExecutor(_READERS) as pool:
            found = [(one, pool.submit(self.spool.get, one.key)) for one in some]
            for waiting, reading in found:
                try:
                    records = reading.result()
                except SpoolUnreadableError as problem:
                    report.unreadable.append(problem)
                else:
                    if records is not None:
                        read.append((waiting, records))
        return read
