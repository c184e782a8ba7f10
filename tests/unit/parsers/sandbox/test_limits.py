"""The small parts that decide: budget, stopwatch, shared memory, and what is read from a child."""

import array
import mmap
import os
import time

import pytest

from fleetlane.parsers.sandbox.packets import Reply
from fleetlane.parsers.sandbox.replies import read_result
from fleetlane.parsers.sandbox.respawn_budget import RespawnBudget
from fleetlane.parsers.sandbox.shared_memory import (
    ForgedReplyError,
    WorkerMemory,
    read_only,
    sealed,
)
from fleetlane.parsers.sandbox.stopwatch import Stopwatch

TOPICS = ("canonical.gps",)
OK_NOTE = (0, 1, 10, 0, 0)


def test_a_budget_is_spent_and_fills_again_with_time() -> None:
    now_s = [0.0]
    budget = RespawnBudget(burst=2, per_s=1, monotonic=lambda: now_s[0])
    taken = [budget.take() for _ in range(3)]

    now_s[0] = 1.0

    assert (taken, budget.take(), budget.take()) == ([True, True, False], True, False)


def test_a_stopwatch_adds_at_most_two_ticks_between_two_looks() -> None:
    stopwatch = Stopwatch(os.getpid(), tick_s=0.001)
    time.sleep(0.05)

    worked_s = stopwatch.look()

    assert worked_s <= 0.002


def test_what_the_worker_wrote_cannot_be_mapped_for_writing() -> None:
    memory = WorkerMemory(4096, "test")
    memory.view[:5] = b"input"

    with pytest.raises(PermissionError):
        mmap.mmap(memory.descriptor, 4096)

    assert bytes(read_only(memory.descriptor, 4096)[:5]) == b"input"
    memory.close()


def _columns(
    *, note: tuple[int, ...] = OK_NOTE, ends: tuple[int, ...] = (0, 4), topic: int = 0
) -> list[bytes]:
    numbers = array.array("i", ends).tobytes()
    notes = array.array("q", note).tobytes()
    return [
        notes,
        numbers,
        numbers,
        bytes([topic]) + bytes(7),
        b"key." + bytes(4),
        b"val." + bytes(4),
    ]


def _reply(**changes: int) -> Reply:
    sizes = {"messages": 1, "events": 1, "key_bytes": 4, "value_bytes": 4, "detail_bytes": 0}
    fields = {"mark": 0, "first": 0, **sizes, "overtime_us": 0, "is_retiring": 0}
    return Reply(**fields | changes)


def test_what_a_child_sent_is_read() -> None:
    part, records = read_result(_reply(), sealed(_columns(), "test"), TOPICS)

    assert (part.messages, list(records)) == (1, [("canonical.gps", b"key.", b"val.")])


@pytest.mark.parametrize(
    ("columns", "changes", "problem"),
    [
        (_columns(ends=(0, 3)), {}, "offsets"),
        (_columns(ends=(2, 4)), {}, "offsets"),
        (_columns(topic=1), {}, "topic"),
        (_columns(note=(99, 1, 10, 0, 0)), {}, "notes"),
        (_columns(note=(0, 2, 10, 0, 0)), {}, "number of events"),
        (_columns(note=(1, 1, 10, 0, 0)), {}, "failed"),
        (_columns(note=(0, 1, -1, 0, 0)), {}, "negative"),
        (_columns(), {"messages": 2}, "another size"),
        (_columns(), {"value_bytes": 1 << 40}, "another size"),
        (_columns(), {"events": -1}, "negative"),
    ],
)
def test_what_does_not_hold_together_is_refused(
    columns: list[bytes], changes: dict[str, int], problem: str
) -> None:
    with pytest.raises(ForgedReplyError, match=problem):
        read_result(_reply(**changes), sealed(columns, "test"), TOPICS)


def test_memory_that_can_still_be_written_is_refused() -> None:
    descriptor = os.memfd_create("test", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.write(descriptor, b"".join(_columns()))

    with pytest.raises(ForgedReplyError, match="still write"):
        read_result(_reply(), descriptor, TOPICS)
