"""One run of respool, piece by piece: what goes, what stays, and what ends it too soon."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final, Protocol

from clients.kafka.producer import NotDurableError, RecordRefusedError
from clients.kafka.producer_record import ProducerRecord
from clients.s3.spool import Spooled, SpoolUnavailableError, SpoolUnreadableError, Waiting
from fleetlane.events.envelope import KafkaPosition

_READERS: Final = 16

NOT_GIVEN_MAX: Final = _READERS
"""So many objects in a row that S3 does not give are an outage of S3."""

UNCONFIRMED_MAX: Final = 20
"""A topic that confirmed nothing of so many records gets no more of them in this run."""

type _Reading = Future[list[ProducerRecord] | None]
type _Place = KafkaPosition | NotDurableError


class Spool(Protocol):
    """Where objects wait; ``clients.s3.spool.Spool`` is one."""

    def waiting(self) -> Iterator[Waiting]: ...
    def get(self, key: str) -> list[ProducerRecord] | None: ...
    def put(self, records: Sequence[ProducerRecord], *, now_ms: int) -> Spooled: ...
    def delete(self, keys: Sequence[str]) -> Sequence[str]: ...


class Producer(Protocol):
    """Kafka; ``clients.kafka.producer.KafkaProducer`` is one."""

    def land_all(self, records: Sequence[ProducerRecord]) -> list[_Place]: ...
    def answers(self, topic: str) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The bounds of a run, and of what is read and landed at a time."""

    seconds: float = 40.0
    objects: int = 100_000
    objects_at_a_time: int = 1_000
    bytes_at_a_time: int = 16 << 20


@dataclass(slots=True, kw_only=True)
class Report:
    """What a run did. ``oldest_since_ms`` is since when the oldest object waits that is left.

    ``unreadable`` objects are left where they are, and told apart. ``stuck`` are those that S3 does
    not give, or of which Kafka does not take all, with the reason: the others went on.
    ``refused`` counts records that Kafka refuses, such as for a topic that does not exist.
    ``problem`` is what ended the run too soon.
    """

    objects: int = 0
    records: int = 0
    oldest_since_ms: int | None = None
    unreadable: list[SpoolUnreadableError] = field(default_factory=list)
    stuck: dict[str, str] = field(default_factory=dict)
    refused: int = 0
    problem: str | None = None

    def left(self, some: Iterable[Waiting]) -> None:
        times_ms = [one.since_ms for one in some]
        if self.oldest_since_ms is not None:
            times_ms.append(self.oldest_since_ms)
        self.oldest_since_ms = min(times_ms, default=None)


@dataclass(slots=True, kw_only=True)
class Run:
    """One run, piece by piece. ``staying`` are objects that are left for a later one.

    ``landed`` are those that S3 has not deleted yet, of this run or before: they land no more.
    Once it ``is_over`` nothing more is read, and no rest is put back: what landed is to be deleted.
    """

    spool: Spool
    producer: Producer
    limits: Limits
    tried_before: frozenset[str]
    landed: set[str]
    is_over: Callable[[], bool]
    report: Report = field(default_factory=Report)
    staying: dict[str, Waiting] = field(default_factory=dict)
    is_kafka_there: bool = True
    _put_back: set[str] = field(default_factory=set)
    _not_given: int = 0
    _unconfirmed: Counter[str] = field(default_factory=Counter)
    _confirming: set[str] = field(default_factory=set)

    def pieces(self) -> Iterator[list[Waiting]]:
        """What waits, so much as may be held at a time; one object first, to see if it goes."""
        before = list[Waiting]()

        def untried() -> Iterator[Waiting]:
            for one in self.spool.waiting():
                if one.key in self.landed:
                    self.report.left([one])
                elif one.key in self.tried_before:
                    before.append(one)
                    self.staying[one.key] = one
                elif one.key not in self._put_back:
                    yield one

        yield from self._pieces(untried(), objects_max=1)
        yield from self._pieces(iter(before), objects_max=self.limits.objects_at_a_time)

    def _pieces(self, waiting: Iterator[Waiting], *, objects_max: int) -> Iterator[list[Waiting]]:
        piece: list[Waiting] = []
        piece_bytes = 0
        for one in waiting:
            is_full = piece_bytes + one.object_bytes > self.limits.bytes_at_a_time
            if piece and (is_full or len(piece) >= objects_max):
                yield piece
                piece, piece_bytes, objects_max = [], 0, self.limits.objects_at_a_time
            piece.append(one)
            piece_bytes += one.object_bytes
        if piece:
            yield piece

    def redrive(self, some: Sequence[Waiting]) -> None:
        """Land one piece; its records are confirmed, or stay, each by itself.

        Raises ``SpoolUnavailableError`` where what was confirmed could not be deleted.
        """
        for one in some:
            self.staying.pop(one.key, None)
        given = ((one, self._given(one, reading)) for one, reading in self._readings(some))
        read = [(one, records) for one, records in given if records is not None]
        stuck = {topic for topic, count in self._unconfirmed.items() if count >= UNCONFIRMED_MAX}
        sent = [record for _, one in read for record in one if record.topic not in stuck]
        places = self.producer.land_all(sent)
        self._judge(sent, places)
        coming, done = iter(places), list[str]()
        for waiting, records in read:
            failed = dict[int, NotDurableError]()
            for number, record in enumerate(records):
                if record.topic in stuck:
                    why = "it confirmed none of the records before"
                    failed[number] = NotDurableError(record.topic, 0.0, why)
                elif isinstance(place := next(coming), NotDurableError):
                    failed[number] = place
            self.report.records += len(records) - len(failed)
            if self._is_done(waiting, records, failed):
                done.append(waiting.key)
        self.landed.update(done)
        self.delete(done)

    def delete(self, landed: Sequence[str]) -> None:
        """Delete objects that landed; raises as ``redrive`` does."""
        left = self.spool.delete(landed)
        self.landed.difference_update(landed)
        self.landed.update(left)
        self.report.stuck.update(dict.fromkeys(left, "it landed, and S3 does not delete it"))

    def _is_done(
        self,
        waiting: Waiting,
        records: Sequence[ProducerRecord],
        failed: dict[int, NotDurableError],
    ) -> bool:
        """Whether an object may be deleted: nothing is left of it, or the rest stands elsewhere."""
        if not failed:
            self.report.objects += 1
            return True
        why = str(next(iter(failed.values())))
        is_untouched = len(failed) == len(records) or self.is_over()
        if is_untouched or self.report.problem is not None:
            self._stays(waiting, why)
            return False
        rest = [records[number] for number in failed]
        try:
            spooled = self.spool.put(rest, now_ms=waiting.since_ms)
        except SpoolUnavailableError as problem:
            self.report.problem = str(problem)
            self._stays(waiting, why)
            return False
        self._put_back.add(spooled.key)
        self._stays(replace(waiting, key=spooled.key), why)
        return True

    def _stays(self, one: Waiting, why: str) -> None:
        self.staying[one.key] = one
        self.report.stuck[one.key] = why

    def _judge(self, sent: Sequence[ProducerRecord], places: Sequence[_Place]) -> None:
        """Tell topics that confirm nothing, whatever the reason, from an outage of all of Kafka."""
        late: NotDurableError | None = None
        for record, place in zip(sent, places, strict=True):
            if isinstance(place, RecordRefusedError):
                self.report.refused += 1
            elif isinstance(place, NotDurableError):
                late = place
                if record.topic not in self._confirming:
                    self._unconfirmed[record.topic] += 1
            else:
                self._confirming.add(record.topic)
                self._unconfirmed.pop(record.topic, None)
        has_confirmed = any(isinstance(place, KafkaPosition) for place in places)
        if late is not None and not has_confirmed and not self.producer.answers(late.topic):
            self.report.problem, self.is_kafka_there = str(late), False

    def _readings(self, some: Sequence[Waiting]) -> Iterator[tuple[Waiting, _Reading]]:
        """Begin to read objects, several at a time, until S3 does not give too many in a row."""
        ahead, coming = deque[tuple[Waiting, _Reading]](), iter(some)
        with ThreadPoolExecutor(_READERS) as pool:
            while True:
                if self._not_given < NOT_GIVEN_MAX and not self.is_over():
                    more = islice(coming, 2 * _READERS - len(ahead))
                    ahead.extend((one, pool.submit(self.spool.get, one.key)) for one in more)
                if not ahead:
                    break
                yield ahead.popleft()
        for untried in coming:
            if untried.key in self.tried_before:
                self.staying[untried.key] = untried
            else:
                self.report.left([untried])

    def _given(self, waiting: Waiting, reading: _Reading) -> list[ProducerRecord] | None:
        try:
            records = reading.result()
        except SpoolUnreadableError as problem:
            self.report.unreadable.append(problem)
            return None
        except SpoolUnavailableError as problem:
            self._stays(waiting, str(problem))
            self._not_given += 1
            if self._not_given >= NOT_GIVEN_MAX:
                self.report.problem = str(problem)
            return None
        self._not_given = 0
        return records
