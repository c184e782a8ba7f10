"""A query that its checkpoint cannot take is refused, in a sentence that says what to do."""

import dataclasses

import pytest

from glue_jobs.engine.checkpoint_notes import CheckpointPlan, PlanChangedError, note_plan
from tests.unit.glue_jobs.memory_files import MemoryFiles

PLAN = CheckpointPlan(spark="4.1.1", is_async=True, cluster="c-1", state="ids of gps for 1 h")


@pytest.fixture
def files() -> MemoryFiles:
    files = MemoryFiles()
    note_plan(files, "parse_lane_fast", PLAN)
    return files


def test_a_plan_is_inside_the_checkpoint_and_moves_away_with_it(files: MemoryFiles) -> None:
    assert list(files.written) == ["parse_lane_fast/plan.json"]


@pytest.mark.parametrize(
    "changes", [{}, {"spark": "4.1.0"}, {"spark": "4.2.0"}, {"cluster": None}], ids=str
)
def test_what_a_checkpoint_takes_goes_on(files: MemoryFiles, changes: dict[str, str]) -> None:
    taken = dataclasses.replace(PLAN, **changes)  # type: ignore[arg-type] # a test's own fields
    note_plan(files, "parse_lane_fast", taken)

    with pytest.raises(PlanChangedError, match="c-1, and this is c-2"):
        note_plan(files, "parse_lane_fast", dataclasses.replace(PLAN, spark="9.0", cluster="c-2"))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"cluster": "c-2"}, "it has offsets of Kafka cluster c-1, and this is c-2"),
        ({"spark": "4.0.9"}, "Spark 4.1.1 wrote it, and this is 4.0.9, which is older"),
        ({"state": ""}, "it keeps ids of gps for 1 h, and the query none"),
    ],
    ids=["cluster", "spark", "state"],
)
def test_what_it_cannot_take_is_refused_with_what_to_do(
    files: MemoryFiles, changes: dict[str, object], problem: str
) -> None:
    changed = dataclasses.replace(PLAN, **changes)  # type: ignore[arg-type] # a test's own fields

    with pytest.raises(PlanChangedError) as refused:
        note_plan(files, "parse_lane_fast", changed)

    assert problem in str(refused.value)
    assert "start the query as it was, or move the checkpoint away" in str(refused.value)


def test_synchronous_progress_may_become_asynchronous() -> None:
    files, synchronous = MemoryFiles(), dataclasses.replace(PLAN, is_async=False)
    note_plan(files, "parse_lane_fast", synchronous)

    note_plan(files, "parse_lane_fast", PLAN)

    assert b'"is_async":true' in files.written["parse_lane_fast/plan.json"]


@pytest.mark.parametrize("is_real_time", [False, True])
def test_asynchronous_progress_becomes_synchronous_from_the_last_batch_that_was_done(
    files: MemoryFiles, *, is_real_time: bool
) -> None:
    query = "parse_lane_fast"
    for batch in (0, 4, 9, 11):
        files.write(f"{query}/offsets/{batch}", b"ends of %d" % batch)
    for batch in (0, 4, 9):
        files.write(f"{query}/commits/{batch}", b"{}")

    synchronous = dataclasses.replace(PLAN, is_async=False, is_real_time=is_real_time)
    note_plan(files, query, synchronous)

    assert sorted(files.names(f"{query}/offsets")) == ["0", "4", "8", "9"]
    assert files.written[f"{query}/offsets/8"] == files.written[f"{query}/offsets/9"]


def test_a_commit_whose_offsets_are_gone_is_forgotten(files: MemoryFiles) -> None:
    query = "parse_lane_standard"
    for batch in (0, 1):
        files.write(f"{query}/offsets/{batch}", b"ends of %d" % batch)
    for batch in (0, 1, 2):  # by a run that had not ended yet as this one began
        files.write(f"{query}/commits/{batch}", b"{}")

    note_plan(files, query, dataclasses.replace(PLAN, is_async=False, is_real_time=True))

    assert sorted(files.names(f"{query}/commits")) == ["0", "1"]


def test_a_batch_that_was_begun_between_batches_is_repeated_as_it_was(files: MemoryFiles) -> None:
    query = "parse_lane_standard"
    synchronous = dataclasses.replace(PLAN, is_async=False)
    note_plan(files, query, synchronous)
    files.write(f"{query}/offsets/0", b"ends")

    note_plan(files, query, synchronous)

    assert files.names(f"{query}/offsets") == ["0"]


def begun_with(files: MemoryFiles, topics: dict[str, str]) -> list[bytes]:
    """Of a query whose two topics were read to 5 and 7: what it begins with, with these ids."""
    query, plan = "parse_lane_fast", dataclasses.replace(PLAN, topics={"a": "1", "b": "2"})
    note_plan(files, query, plan)
    for batch in (3, 4):
        files.write(
            f"{query}/offsets/{batch}", b'v1\n{"batchTimestampMs":1}\n{"a":{"0":5},"b":{"0":7}}'
        )
    files.write(f"{query}/offsets/5", b"a batch that was begun")
    for batch in (3, 4):
        files.write(f"{query}/commits/{batch}", b"{}")
    note_plan(files, query, dataclasses.replace(plan, topics=topics))
    return [files.written.get(f"{query}/offsets/{batch}", b"") for batch in (3, 4, 5)]


def test_a_topic_made_anew_is_read_from_its_beginning(files: MemoryFiles) -> None:
    begun = begun_with(files, {"a": "another", "b": "2"})

    assert begun == [*[b'v1\n{"batchTimestampMs":1}\n{"b":{"0":7}}'] * 2, b""]


@pytest.mark.parametrize("topics", [{}, {"a": "1"}, {"a": "1", "b": "2", "c": "3"}], ids=str)
def test_topics_that_are_as_they_were_or_new_or_unknown_just_now_change_nothing(
    files: MemoryFiles, topics: dict[str, str]
) -> None:
    begun = begun_with(files, topics)

    assert b'"a":{"0":5}' in begun[0]
    assert begun[2] == b"a batch that was begun"


def test_a_topic_that_is_gone_for_a_while_is_still_known(files: MemoryFiles) -> None:
    begun_with(files, {"b": "2"})
    again = dataclasses.replace(PLAN, topics={"a": "another", "b": "2"})

    note_plan(files, "parse_lane_fast", again)

    assert b'"a"' not in files.written["parse_lane_fast/offsets/4"]
