"""How far the lake has come, by positions that were noted before."""

import gc
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from glue_jobs.kafka.admin import Offsets, Partition
from glue_jobs.standing_ledger.positions import NotedPositions, Positions, positions_now

RAW, PARSED, CANONICAL, UNIQUE = (
    ("raw.standard", 0),
    ("fleet.parsed", 0),
    ("canonical.gps", 0),
    ("unique.gps", 0),
)


def at(
    at_ms: int,
    *,
    ends: Mapping[Partition, int],
    kept: Mapping[Partition, int] | None = None,
    archived: int = 0,
    deduped: int | None = None,
) -> Positions:
    return Positions(
        at_ms=at_ms,
        begins={RAW: 0},
        passed={RAW: at_ms},
        archived={RAW: archived},
        kept=kept or {},
        deduped={} if deduped is None else {CANONICAL: deduped},
        ends=ends,
    )


def test_positions_are_kept_once_the_lake_has_read_what_there_was() -> None:
    noted = NotedPositions()

    noted.note(at(1, ends={PARSED: 10, CANONICAL: 5}, kept={PARSED: 4, CANONICAL: 5}))
    before = noted.kept
    noted.note(at(2, ends={PARSED: 20, CANONICAL: 9}, kept={PARSED: 10, CANONICAL: 6}))

    assert before is None
    assert noted.kept is not None
    assert noted.kept.at_ms == 1


def test_what_the_lake_read_once_stays_kept_when_it_falls_behind() -> None:
    noted = NotedPositions()

    noted.note(at(1, ends={PARSED: 10}, kept={PARSED: 10}))
    noted.note(at(2, ends={PARSED: 900}, kept={PARSED: 12}))

    assert noted.kept is not None
    assert noted.kept.at_ms == 1


def test_deduplicated_events_are_kept_once_the_lake_has_their_other_topic() -> None:
    noted, ends = NotedPositions(), {CANONICAL: 5, UNIQUE: 2}

    noted.note(at(1, ends=ends, kept={UNIQUE: 2}, deduped=3))
    copied_later = noted.kept
    noted.note(at(2, ends={CANONICAL: 9, UNIQUE: 5}, kept={UNIQUE: 2}, deduped=5))
    not_read_yet = noted.kept
    noted.note(at(3, ends={CANONICAL: 9, UNIQUE: 7}, kept={UNIQUE: 5}, deduped=6))

    assert (copied_later, not_read_yet) == (None, None)
    assert noted.kept is not None
    assert noted.kept.at_ms == 1


def test_the_archive_is_behind_for_as_long_as_it_has_not_read_a_raw_record() -> None:
    noted = NotedPositions()

    noted.note(at(1, ends={RAW: 7}, archived=6))
    before = noted.archived
    noted.note(at(2, ends={RAW: 9}, archived=7))

    assert before is None
    assert noted.archived is not None
    assert noted.archived.at_ms == 1


def test_no_positions_are_held_from_before_those_that_all_have_caught_up_with() -> None:
    def held() -> int:
        gc.collect()
        return sum(isinstance(one, Positions) for one in gc.get_objects())

    noted, before = NotedPositions(), held()

    for at_ms in range(100):
        noted.note(at(at_ms, ends={RAW: 7, PARSED: 7}, kept={PARSED: 7}, archived=7))

    assert held() - before <= 2


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeKafka:
    """One partition a topic, with ten records of which the first is gone."""

    committed_by: Mapping[str, Offsets]
    asked: list[str] = field(default_factory=list)

    def topics(self) -> frozenset[str]:
        return frozenset({"raw.standard", "canonical.gps", "fleet.parsed", "fleet.alerts", "other"})

    def partitions(self, topics: Iterable[str]) -> Iterable[Partition]:
        return [(topic, 0) for topic in topics]

    def groups(self) -> list[str]:
        return list(self.committed_by)

    def committed(self, group: str) -> Offsets:
        self.asked.append(group)
        return self.committed_by[group]

    def beginnings(self, partitions: Iterable[Partition]) -> Offsets:
        return dict.fromkeys(partitions, 1)

    def ends(self, partitions: Iterable[Partition]) -> Offsets:
        self.asked.append("ends")
        return dict.fromkeys(partitions, 10)


def test_of_queries_that_read_the_same_topic_the_furthest_counts() -> None:
    kafka = FakeKafka(
        committed_by={
            "fleetlane-parse-standard": {RAW: 4},
            "fleetlane-parse-slow": {RAW: 6},
            "fleetlane-lake-archive": {RAW: 3},
            "fleetlane-lake-fleet": {PARSED: 8},
            "fleetlane-fleet-metadata": {RAW: 9},
        }
    )

    now = positions_now(kafka, now_ms=lambda: 17)

    assert (now.passed, now.archived, now.kept) == ({RAW: 6}, {RAW: 3}, {PARSED: 8})
    assert now.begins == {RAW: 1}
    assert set(now.ends) == {RAW, CANONICAL, PARSED}


def test_a_stream_whose_copy_has_not_begun_counts_as_copied_from_its_beginning() -> None:
    kafka = FakeKafka(committed_by={"fleetlane-lake-events": {CANONICAL: 10}})

    now = positions_now(kafka, now_ms=lambda: 17, deduped={"canonical.gps", "canonical.later"})

    assert now.deduped == {CANONICAL: 0}


def test_ends_are_read_after_all_that_was_passed() -> None:
    kafka = FakeKafka(committed_by={"fleetlane-parse-fast": {}, "fleetlane-lake-events": {}})

    positions_now(kafka, now_ms=lambda: 17)

    assert kafka.asked[-1] == "ends"
