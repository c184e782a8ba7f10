"""What lineage has of a query's run, its start and how it ended, and what it costs no query."""

import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from fleetlane.events.job_arguments import JobArguments
from glue_jobs.kafka import query_runs
from glue_jobs.kafka.source_and_sink import QueryPlan
from tests.lineage import check_run_event, events_in, written_lineage

ARGUMENTS = JobArguments(
    kafka_bootstrap_servers="b-1:9098,b-2:9098", checkpoint_folder="none", stage="dev"
)
LANE = QueryPlan(name="parse_lane_standard", pattern=r"raw\.standard", trigger_ms=0)
WAIT_S = 60.0


@dataclass
class RunningQuery:
    """A query that runs until it is ended, by an error or not."""

    runId: str = field(default_factory=lambda: str(uuid4()))  # noqa: N815 - Spark's name
    problem: Exception | None = None
    ended: threading.Event = field(default_factory=threading.Event)

    def awaitTermination(self) -> None:  # noqa: N802 - Spark's name
        self.ended.wait()
        if self.problem is not None:
            raise self.problem

    def end(self) -> None:
        self.ended.set()
        query_runs.wait_for_ends(WAIT_S)


class NoKafka:
    """A session whose JVM has none of Kafka's classes."""

    def __getattr__(self, name: str) -> Any:
        return self


@pytest.fixture
def lineage(tmp_path: Path) -> Iterator[Path]:
    with written_lineage(tmp_path / "lineage.json"):
        yield tmp_path / "lineage.json"


def follow(query: RunningQuery, plan: QueryPlan = LANE, given: JobArguments = ARGUMENTS) -> None:
    session = cast("SparkSession", NoKafka())
    query_runs.followed(cast("StreamingQuery", query), session, given, plan)


def soon_has(file: Path, events: int) -> bool:
    until_s = time.monotonic() + WAIT_S
    while len(events_in(file)) < events and time.monotonic() < until_s:
        time.sleep(0.05)
    return len(events_in(file)) == events


def test_a_query_s_start_is_sent_while_it_runs_and_its_end_as_the_same_run(lineage: Path) -> None:
    query = RunningQuery()

    follow(query)
    has_begun = soon_has(lineage, 1)
    query.end()

    begun, ended = events_in(lineage)
    assert (has_begun, begun["eventType"], ended["eventType"]) == (True, "START", "COMPLETE")
    assert begun["run"]["runId"] == ended["run"]["runId"] == query.runId
    assert (begun["job"]["namespace"], begun["job"]["name"]) == (
        "fleetlane-dev",
        "query.parse-standard",
    )


def test_the_standard_s_own_classes_take_each_event(lineage: Path) -> None:
    fine, broken = RunningQuery(), RunningQuery(problem=ValueError("none"))

    for query in (fine, broken):
        follow(query)
        query.end()

    events = events_in(lineage)
    assert [one["eventType"] for one in events] == ["START", "COMPLETE", "START", "FAIL"]
    for event in events:
        check_run_event(event)
    kind = events[0]["job"]["facets"]["jobType"]
    assert [kind[name] for name in ("processingType", "integration", "jobType")] == [
        *("STREAMING", "FLEETLANE", "QUERY")
    ]


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (ValueError("Kafka is gone\n=== Streaming Query ==="), "ValueError: Kafka is gone"),
        (ValueError("no number: '47.37' of 'lat'"), "ValueError: no number: …"),
        (ValueError(""), "ValueError: "),
        (ValueError("far " * 200), ("ValueError: " + "far " * 200)[: query_runs.ERROR_CHARS_MAX]),
    ],
)
def test_an_error_is_its_class_and_first_line_without_a_value(
    lineage: Path, problem: Exception, message: str
) -> None:
    query = RunningQuery(problem=problem)

    follow(query)
    query.end()

    assert events_in(lineage)[-1]["run"]["facets"]["errorMessage"]["message"] == message


def test_a_table_is_named_by_its_database_and_its_stage(lineage: Path) -> None:
    query = RunningQuery()
    plan = QueryPlan(name="lake_events", pattern="parked", trigger_ms=0, tables=["lake.events"])

    follow(query, plan)
    query.end()

    for event in events_in(lineage):
        (table,) = event["outputs"]
        assert (table["namespace"], table["name"]) == ("fleetlane-dev", "lake.events")


def test_without_settings_no_query_is_followed() -> None:
    before = threading.active_count()

    follow(RunningQuery())

    assert threading.active_count() == before


@pytest.fixture
def silent() -> Iterator[str]:
    """An address that takes connections, and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def test_a_place_that_never_answers_delays_no_query_and_no_end(
    monkeypatch: pytest.MonkeyPatch, silent: str
) -> None:
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__RETRY", '{"total": 0}')
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TIMEOUT", "2")
    given = JobArguments(
        kafka_bootstrap_servers="b-1:9098", checkpoint_folder="none", openlineage_url=silent
    )
    query = RunningQuery()
    began_s = time.monotonic()

    follow(query, given=given)
    query.ended.set()
    query_runs.wait_for_ends(0.2)

    assert time.monotonic() - began_s < 1.5
    query_runs.wait_for_ends(WAIT_S)


def test_what_cannot_be_sent_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__RETRY", '{"total": 0}')
    given = JobArguments(
        kafka_bootstrap_servers="b-1:9098",
        checkpoint_folder="none",
        openlineage_url="http://127.0.0.1:9",
    )
    query = RunningQuery()

    follow(query, given=given)
    query.end()

    lines = [one.message for one in caplog.records if one.name == query_runs.__name__]
    assert len(lines) == 2
    assert lines[0].startswith("START of query parse_lane_standard was not sent as lineage: ")
