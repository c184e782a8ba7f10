"""One run of the standard lane on messages that all lie there before it starts."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import count, pairwise
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.running.application import running
from benchmarks.running.messages import land_all, message_for
from benchmarks.running.services import Services
from benchmarks.running.watched import Watched
from fleetlane.events.topics import FLEET_PARSED, canonical_topic
from local.servers.processes import ServerProcess

RAW: Final = "raw.standard"
JOBS: Final = "parse_lane --lane standard"
_SECONDS_MAX: Final = 600.0

type Side = Callable[[Services, Path], AbstractContextManager[Sequence[ServerProcess]]]
"""Starts the lane in a new folder: its processes, which are ended with the block."""


@contextmanager
def one_process(services: Services, folder: Path) -> Iterator[Sequence[ServerProcess]]:
    with running(services, folder, JOBS) as application:
        yield [application]


def trial(
    services: Services,
    arguments: argparse.Namespace,
    streams: Sequence[str],
    side: Side = one_process,
    *,
    looks: int = 1,
) -> tuple[float, float]:
    """Microseconds of CPU a message, and messages a second, once it is warm: medians of ``looks``.

    ``arguments`` have ``warm_up`` and ``messages``, those between two looks; messages take turns by
    stream.
    """
    total = arguments.warm_up + looks * arguments.messages
    before = services.end_offset(FLEET_PARSED)
    land_all(
        services, (message_for(one, stream=streams[one % len(streams)]) for one in range(total))
    )
    run = next(one for number in count() if not (one := services.folder / f"run_{number}").exists())
    with side(services, run) as processes:
        watched = Watched(
            processes,
            done=lambda: services.end_offset(FLEET_PARSED) - before,
            seconds_max=_SECONDS_MAX,
        )
        counts = range(arguments.warm_up, total + 1, arguments.messages)
        pairs = [*pairwise(map(watched.look_after, counts))]
    services.delete_records([RAW, FLEET_PARSED, *map(canonical_topic, streams)])
    return (
        median(ended.cpu_us_a_message_since(began) for began, ended in pairs),
        median(ended.messages_a_second_since(began) for began, ended in pairs),
    )
