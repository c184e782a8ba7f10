"""How fast lanes empty topics that were full before they started."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.parse.workload import EVENTS
from benchmarks.running.application import TASK_SLOTS, Machine, running
from benchmarks.running.services import Services
from benchmarks.running.watched import Watched
from fleetlane.events.topics import canonical_topic

_SECONDS_MAX: Final = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain:
    """What the jobs drain: so many messages of these streams, after those of a warm-up."""

    jobs: str
    streams: Sequence[str]
    warm_up: int
    messages: int
    task_slots: int = TASK_SLOTS


def drained_per_s(services: Services, folder: Path, drain: Drain) -> float:
    """Start the jobs, and give the messages a second after the warm-up.

    They must have been written before.
    """
    topics = [canonical_topic(stream) for stream in drain.streams]
    before, machine = sum(map(services.end_offset, topics)), Machine(task_slots=drain.task_slots)
    with running(services, folder, drain.jobs, machine) as application:
        watched = Watched(
            [application],
            done=lambda: (sum(map(services.end_offset, topics)) - before) / EVENTS,
            seconds_max=_SECONDS_MAX,
        )
        began = watched.look_after(drain.warm_up)
        ended = watched.look_after(drain.warm_up + drain.messages)
    return ended.messages_a_second_since(began)
