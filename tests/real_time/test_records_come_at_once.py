"""What lets a record reach a Python worker at once, and what it does with it wait for the end."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Final

import pytest
from pyspark.sql import SparkSession

from glue_jobs.parse_lane.real_time.query import with_markers
from local.servers.kafka import KafkaBroker
from tests.real_time.noting import Notes, noting
from tests.real_time.queries import (
    BUFFER_BYTES,
    CODEGEN,
    EXPRESSIONS,
    REAL_TIME,
    ROWS_AT_ONCE,
    Kafka,
    own_session,
    read,
    started,
    wait_until,
)

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

BATCH_S: Final = 6
HELD_S_MAX: Final = 1.0
"""What is held until a batch ends comes no longer than this before its end."""

INTERPRETED: Final = {CODEGEN: "false", EXPRESSIONS: "NO_CODEGEN"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A query of one partition; ``settings`` replace those of the mode, ``None`` leaves one out."""

    settings: Mapping[str, str | None]
    is_marked: bool = True
    passes_on: bool = False

    @property
    def all_settings(self) -> Mapping[str, str]:
        given = {**REAL_TIME, **self.settings}
        return {name: value for name, value in given.items() if value is not None}


CASES: Final[Mapping[str, Case]] = {
    "compiled": Case(settings={CODEGEN: "true"}, passes_on=True),
    "interpreted": Case(settings=INTERPRETED),
    "compiled-without-marker": Case(settings={CODEGEN: "true"}, is_marked=False),
    "interpreted-without-marker": Case(settings=INTERPRETED, is_marked=False),
    "large-buffer": Case(settings={BUFFER_BYTES: None}),
    "many-rows-at-once": Case(settings={ROWS_AT_ONCE: "1000"}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """The notes of each query, which got one record, and when one of them passed it on."""

    notes: Mapping[str, Notes]
    passed_on_s: float

    def held_s(self, query: str) -> float:
        """How long before the end of its batch the worker of a query got its record."""
        got = self.notes[query].of("record")[0]
        ended = [note for note in self.notes[query].of("ended") if note.at_s >= got.at_s]
        return ended[0].at_s - got.at_s


def is_over(notes: Notes) -> bool:
    """Whether the batch of its record has ended."""
    got = notes.of("record")
    return bool(got) and any(note.at_s >= got[0].at_s for note in notes.of("ended"))


@pytest.fixture(scope="module")
def observed(
    spark: SparkSession, kafka_broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Observed]:
    """All queries side by side; each gets its record as soon as a batch of it began."""
    folder = tmp_path_factory.mktemp("at_once")
    with closing(Kafka(kafka_broker.bootstrap_servers)) as kafka:
        kafka.create(*CASES, "passed-on")
        notes = {name: Notes(folder / f"{name}.notes") for name in CASES}
        queries = []
        for name, case in CASES.items():
            records = read(own_session(spark, case.all_settings), kafka, name)
            function = noting(notes[name], passes_on=case.passes_on)
            records = with_markers(records) if case.is_marked else records
            records = records.mapInArrow(function, "value binary")
            queries.append(
                started(records, kafka, folder / name, batch_s=BATCH_S, sink={"topic": "passed-on"})
            )
        wait_until(lambda: all(len(one.of("began")) > 1 for one in notes.values()))
        begun = {name: len(one.of("began")) for name, one in notes.items()}

        def all_are_sent() -> bool:
            for name in [one for one in begun if len(notes[one].of("began")) > begun[one]]:
                kafka.send(name, b"record")
                del begun[name]
            return not begun

        wait_until(all_are_sent)
        wait_until(lambda: all(map(is_over, notes.values())))
        wait_until(lambda: kafka.end("passed-on"))
        yield Observed(notes=notes, passed_on_s=kafka.first_s("passed-on"))
        for query in queries:
            query.stop()


@pytest.mark.parametrize("plan", ["compiled", "interpreted"])
def test_a_record_with_an_empty_row_behind_it_reaches_the_worker_at_once(
    observed: Observed, plan: str
) -> None:
    assert observed.held_s(plan) > HELD_S_MAX


@pytest.mark.parametrize("plan", ["compiled", "interpreted"])
def test_a_record_alone_reaches_the_worker_when_the_batch_ends(
    observed: Observed, plan: str
) -> None:
    assert observed.held_s(f"{plan}-without-marker") <= HELD_S_MAX


def test_with_the_usual_buffer_a_record_reaches_the_worker_when_the_batch_ends(
    observed: Observed,
) -> None:
    assert observed.held_s("large-buffer") <= HELD_S_MAX


def test_with_many_rows_in_an_arrow_batch_a_record_reaches_the_worker_when_the_batch_ends(
    observed: Observed,
) -> None:
    assert observed.held_s("many-rows-at-once") <= HELD_S_MAX


def test_a_session_of_its_own_has_settings_that_the_application_has_not(
    spark: SparkSession, observed: Observed
) -> None:
    assert spark.conf.get(BUFFER_BYTES) != REAL_TIME[BUFFER_BYTES]
    assert spark.conf.get(ROWS_AT_ONCE) != REAL_TIME[ROWS_AT_ONCE]


def test_what_a_worker_gives_back_is_read_only_when_the_batch_ends(observed: Observed) -> None:
    got = observed.notes["compiled"].of("record")[0]

    assert observed.passed_on_s - got.at_s > HELD_S_MAX


def test_a_worker_that_had_a_task_of_one_batch_has_one_of_the_next(observed: Observed) -> None:
    assert all(observed.notes[query].of("began")[2].tasks > 1 for query in CASES)


def test_queries_with_another_buffer_have_other_workers(observed: Observed) -> None:
    workers = {query: {note.pid for note in observed.notes[query].all()} for query in CASES}

    for query in CASES.keys() - {"large-buffer"}:
        assert not workers[query] & workers["large-buffer"]
