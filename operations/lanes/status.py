"""The state of the lanes, from Kafka alone: parse rate, backlog, oldest waiting message."""

import re
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Protocol

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException
from confluent_kafka.admin import AdminClient

from clients.kafka.reader import KafkaReader, KafkaUnreadableError, Offsets, Partition
from clients.kafka.security import security_configuration
from fleetlane.events.job_arguments import KafkaSecurity
from fleetlane.events.lanes import Lane
from fleetlane.events.topic_patterns import lane_of, raw_pattern
from fleetlane.events.topics import FLEET_PARSED, MIRRORED_GROUPS, seen_and_stalled_ms
from operations.lanes.tally import LaneCounts, LaneTally
from operations.messages.newest import Topics

_ANSWER_S: Final = 10.0


class Position(NamedTuple):
    """The offset of the next record that a group reads, and the metadata committed with it.

    The note may be followed by garbage: librdkafka's client reads too far.
    """

    offset: int
    note: str


class KafkaPositions(KafkaReader):
    """Queries a cluster; changes nothing in it. Asks for its groups besides what a reader does."""

    def __init__(self, bootstrap_servers: str, security: KafkaSecurity) -> None:
        super().__init__(bootstrap_servers, security=security)
        settings: dict[str, Any] = {"bootstrap.servers": bootstrap_servers, "log_level": 0}
        self._admin = AdminClient(settings | security_configuration(security))

    def groups(self, prefix: str) -> dict[str, dict[Partition, Position]]:
        """How far the groups with this prefix have read."""
        listed = _result(self._admin.list_consumer_groups(request_timeout=_ANSWER_S))
        if listed.errors:  # a part would look as if no query read the rest
            raise KafkaUnreadableError(str(listed.errors[0]))
        names = sorted(one.group_id for one in listed.valid if one.group_id.startswith(prefix))
        asked = dict[str, Future[Any]]()
        for name in names:  # a request takes one group alone
            group = [ConsumerGroupTopicPartitions(name)]
            asked |= self._admin.list_consumer_group_offsets(group, request_timeout=_ANSWER_S)
        return {name: _positions_in(_result(answer)) for name, answer in asked.items()}


def _positions_in(answer: ConsumerGroupTopicPartitions) -> dict[Partition, Position]:
    return {
        (one.topic, one.partition): Position(one.offset, one.metadata or "")
        for one in answer.topic_partitions or []
        if one.offset >= 0
    }


def _result(answer: "Future[Any]") -> Any:
    try:
        return answer.result(timeout=2 * _ANSWER_S)
    except (KafkaException, TimeoutError) as problem:
        raise KafkaUnreadableError(str(problem)) from None


WINDOW_S: Final = 60.0
WINDOW_RECORDS_MAX: Final = 100_000
"""On a busier platform the window is shortened."""

_PARSERS: Final = f"{MIRRORED_GROUPS}parse-"

type Groups = Mapping[str, Mapping[Partition, Position]]


class Positions(Topics, Protocol):
    """Where topics and groups are; ``KafkaPositions`` is one."""

    def groups(self, prefix: str) -> Groups: ...
    def at_time(self, partitions: Iterable[Partition], time_ms: int) -> Offsets: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneStatus:
    """One lane. ``oldest_arrival_ms`` is of the oldest waiting message, if there is one.

    ``parked_percent`` is of the attempts in ``window_s``; ``None`` where there were none.
    """

    lane: Lane
    parsed_per_s: float
    parked_percent: float | None
    waiting: int
    oldest_arrival_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryStatus:
    """One query: how many records it is behind, and when it last reported.

    ``stalled_ms``: how long it has had work and made no progress, once that is suspicious; else 0.
    """

    query: str
    waiting: int
    seen_ms: int | None
    stalled_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """The state at ``at_ms``; rates are of the ``window_s`` seconds before.

    ``streams`` are the attempts within them, of streams that had any.
    """

    at_ms: int
    window_s: float
    lanes: tuple[LaneStatus, ...]
    queries: tuple[QueryStatus, ...]
    streams: Mapping[str, LaneCounts] = field(default_factory=dict)

    def rates_of(self, stream: str) -> tuple[float, float | None]:
        """Messages of a stream parsed a second, and parked in percent, as of a lane."""
        counts = self.streams.get(stream, LaneCounts())
        return (counts.parsed + counts.empty) / self.window_s, counts.parked_percent


def status_of(kafka: Positions, *, now_ms: int) -> Status:
    """Query everything once.

    A query reports its position with a delay of some seconds. What has an attempt in
    ``fleet.parsed`` by now does not wait, whatever the position says.
    """
    groups = kafka.groups(MIRRORED_GROUPS)
    window_s, tally = _recent_attempts(kafka, now_ms)
    read = {topic for positions in groups.values() for topic, _ in positions}
    topics = "|".join((raw_pattern(*Lane), *map(re.escape, sorted(read))))
    ends = kafka.ends(kafka.partitions(topics))
    return Status(
        at_ms=now_ms,
        window_s=window_s,
        lanes=tuple(_lane(kafka, lane, groups, tally, window_s, ends) for lane in Lane),
        queries=tuple(_query(name, read, tally, ends) for name, read in groups.items()),
        streams=tally.streams,
    )


def _recent_attempts(kafka: Positions, now_ms: int) -> tuple[float, LaneTally]:
    """Attempts of the last minute, or of a shorter window if there were very many."""
    partitions, window_s = kafka.partitions(FLEET_PARSED), WINDOW_S
    ends = kafka.ends(partitions)
    begins = kafka.at_time(partitions, now_ms - int(window_s * 1000))
    records = sum(ends[one] - begins[one] for one in partitions)
    if records > WINDOW_RECORDS_MAX:
        window_s *= WINDOW_RECORDS_MAX / records
        begins = kafka.at_time(partitions, now_ms - int(window_s * 1000))
    tally = LaneTally()
    tally.fold(kafka.read_between(begins, ends))
    return window_s, tally


def _lane(
    kafka: Positions, lane: Lane, groups: Groups, tally: LaneTally, window_s: float, ends: Offsets
) -> LaneStatus:
    partitions = [one for one in ends if lane_of(one[0]) is lane]
    begins = _unread(kafka, partitions, groups)
    begins = {one: tally.first_waiting(one, begin) for one, begin in begins.items()}
    first = {one: min(begins[one] + 1, ends[one]) for one in partitions}
    keys = (record.key or b"" for record in kafka.read_between(begins, first))  # arrival times
    counts = tally.counts[lane]
    return LaneStatus(
        lane=lane,
        parsed_per_s=(counts.parsed + counts.empty) / window_s,
        parked_percent=counts.parked_percent,
        waiting=sum(tally.waiting(one, begins[one], ends[one]) for one in partitions),
        oldest_arrival_ms=min((int(key) for key in keys if key.isdigit()), default=None),
    )


def _unread(kafka: Positions, partitions: list[Partition], groups: Groups) -> Offsets:
    """Where the lane's parsers continue; the beginning, if none has read the partition yet."""
    read = {
        partition: position.offset
        for name, positions in groups.items()
        if name.startswith(_PARSERS)
        for partition, position in positions.items()
    }
    beginnings = kafka.beginnings(partitions)
    return {one: max(read.get(one, 0), beginnings[one]) for one in partitions}


def _query(
    group: str, read: Mapping[Partition, Position], tally: LaneTally, ends: Offsets
) -> QueryStatus:
    done = tally if group.startswith(_PARSERS) else LaneTally()
    notes = [found for _, note in read.values() if (found := seen_and_stalled_ms(note))]
    return QueryStatus(
        query=group.removeprefix(MIRRORED_GROUPS),
        waiting=sum(done.waiting(one, read[one].offset, ends[one]) for one in ends.keys() & read),
        seen_ms=max((seen_ms for seen_ms, _ in notes), default=None),
        stalled_ms=max((stalled_ms for _, stalled_ms in notes), default=0),
    )
