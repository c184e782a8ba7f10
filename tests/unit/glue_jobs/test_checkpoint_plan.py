"""A query that its checkpoint cannot take is refused, in a sentence that says what to do."""

import dataclasses

import pytest

from glue_jobs.engine.checkpoint_notes import CheckpointPlan, PlanChangedError, note_plan

PLAN = CheckpointPlan(spark="4.1.1", is_async=True, cluster="c-1", state="ids of gps for 1 h")


class MemoryFiles:
    def __init__(self) -> None:
        self.written: dict[str, bytes] = {}

    def read(self, name: str) -> bytes | None:
        return self.written.get(name)

    def write(self, name: str, content: bytes) -> None:
        self.written[name] = content


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
        ({"is_async": False}, "progress was written beside the batches, now between them"),
        ({"spark": "4.0.9"}, "Spark 4.1.1 wrote it, and this is 4.0.9, which is older"),
        ({"state": ""}, "it keeps ids of gps for 1 h, and the query none"),
    ],
    ids=["cluster", "async", "spark", "state"],
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
