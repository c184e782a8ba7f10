"""Topics and groups in memory, which keep the contract of ``KafkaPositions``."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from clients.kafka.reader import Offsets, Partition
from fleetlane.events.envelope import Record
from operations.lanes.status import Position


class MemoryPositions:
    def __init__(self) -> None:
        self.records_of: defaultdict[Partition, list[Record]] = defaultdict(list)
        self.group_positions: dict[str, dict[Partition, Position]] = {}

    def write(
        self, topic: str, key: bytes, value: bytes, *, headers: Iterable[tuple[str, bytes]] = ()
    ) -> None:
        """Append a record to partition 0, written at the time that its key says."""
        records = self.records_of[topic, 0]
        records.append(
            Record(
                topic=topic,
                partition=0,
                offset=len(records),
                timestamp_ms=int(key) if key.isdigit() else 0,
                key=key,
                value=value,
                headers=tuple(headers),
            )
        )

    def partitions(self, pattern: str) -> list[Partition]:
        return [one for one in self.records_of if re.fullmatch(pattern, one[0])]

    def groups(self, prefix: str) -> Mapping[str, Mapping[Partition, Position]]:
        return {
            name: read for name, read in self.group_positions.items() if name.startswith(prefix)
        }

    def beginnings(self, partitions: Iterable[Partition]) -> Offsets:
        return dict.fromkeys(partitions, 0)

    def ends(self, partitions: Iterable[Partition]) -> Offsets:
        return {one: len(self.records_of[one]) for one in partitions}

    def at_time(self, partitions: Iterable[Partition], time_ms: int) -> Offsets:
        return {
            one: sum(record.timestamp_ms < time_ms for record in self.records_of[one])
            for one in partitions
        }

    def read_between(self, begins: Offsets, ends: Offsets) -> Iterator[Record]:
        for one, begin in begins.items():
            yield from self.records_of[one][begin : ends[one]]
