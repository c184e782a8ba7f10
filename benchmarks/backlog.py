"""A backlog drained: how steady the rate and the memory are; and how soon a burst is done with.

The backlog is there before the standard lane starts. The burst comes into a lane at 20 % load,
and is ten times that.
"""

import argparse
import itertools
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from threading import Event, Thread
from typing import Final

from benchmarks.kept_numbers import write_numbers
from benchmarks.parse.workload import PARTITIONS
from benchmarks.running.application import running
from benchmarks.running.arguments import arguments_of, emptied
from benchmarks.running.messages import (
    Record,
    deploy_parser,
    flow_of,
    land_all,
    land_evenly,
    message_for,
    raw_producer,
    record_of,
)
from benchmarks.running.process_tree import tree_resident_mib
from benchmarks.running.services import Services, services
from benchmarks.running.telling import tell
from benchmarks.running.watched import Look, Watched
from fleetlane.events.topics import FLEET_PARSED, PARKED, canonical_topic
from local.servers.processes import ServerProcess

STREAM: Final = "bench"
RAW: Final = "raw.standard"
OUTPUTS: Final = (FLEET_PARSED, canonical_topic(STREAM))
TENTHS: Final = 10
LOAD: Final = 0.2
BURST_TIMES: Final = 10
STEADY_S: Final = 15.0
_SECONDS_MAX: Final = 1_200.0
_LOOK_EVERY_S: Final = 0.1


def main() -> None:
    arguments = _arguments()
    with emptied(arguments.folder) as folder, services(folder) as ready:
        ready.create_topics([RAW, "raw.slow", PARKED, *OUTPUTS], partitions=PARTITIONS)
        deploy_parser(ready)
        ready.publish([flow_of(STREAM)])
        before = ready.end_offset(FLEET_PARSED)
        land_all(ready, (message_for(one, stream=STREAM) for one in range(arguments.messages)))
        with running(ready, folder / "job", "parse_lane --lane standard") as application:
            watched = Watched(
                [application],
                done=lambda: ready.end_offset(FLEET_PARSED) - before,
                seconds_max=_SECONDS_MAX,
            )
            looks, resident_mib = drained(ready, watched, application, arguments.messages)
            numbers = by_tenth(looks, resident_mib)
            tell(write_numbers(arguments.output, numbers))
            if arguments.burst_seconds:
                per_s = LOAD * _rate(looks[1:])
                burst = burst_recovered(ready, watched, per_s, arguments.burst_seconds)
                tell(write_numbers(arguments.output, burst))


def drained(
    services: Services, watched: Watched, application: ServerProcess, messages: int
) -> tuple[list[Look], list[float]]:
    """Looks at the start and after each tenth, and the memory of all processes after each."""
    looks, resident_mib = [watched.look()], list[float]()
    for tenth in range(1, TENTHS + 1):
        looks.append(watched.look_after(messages * tenth / TENTHS))
        resident_mib.append(tree_resident_mib(application.pid or 0))
        tell(f"tenth {tenth}: {resident_mib[-1]:.0f} MiB")
        services.delete_records(OUTPUTS)
    return looks, resident_mib


def by_tenth(looks: Sequence[Look], resident_mib: Sequence[float]) -> dict[str, object]:
    """Rate and memory; the first tenth has the start in it, the second still compiles."""
    rates = [round(after.messages_a_second_since(before)) for before, after in pairwise(looks)]
    return {
        "backlog_messages": round(looks[-1].messages),
        "messages_per_s_by_tenth": rates,
        "resident_mib_by_tenth": [round(one) for one in resident_mib],
        "rate_last_to_third_tenth": round(rates[-1] / rates[2], 3),
        "memory_last_to_third_tenth": round(resident_mib[-1] / resident_mib[2], 3),
    }


def burst_recovered(
    services: Services, watched: Watched, per_s: float, burst_s: float
) -> dict[str, object]:
    """Send steadily, ten times as much for a while, and steadily until the lag is as before."""
    stop, steady_lag, burst_lag = Event(), 0.0, 0.0
    sender = _Sender(services, round(watched.look().messages), per_s, burst_s, stop)
    landed_before = services.end_offset(RAW) - watched.look().messages

    def lag() -> float:
        return services.end_offset(RAW) - landed_before - watched.look().messages

    sender.start()
    try:
        while not sender.bursts.is_set():
            steady_lag = max(steady_lag, lag())
            time.sleep(_LOOK_EVERY_S)
        while not sender.has_burst.is_set():
            time.sleep(_LOOK_EVERY_S)
        burst_lag, ended_s = lag(), time.monotonic()
        recovered = watched.look_when(lambda: lag() <= steady_lag)
    finally:
        stop.set()
        sender.join()
    return {
        "steady_messages_per_s": round(per_s),
        "steady_lag_messages": round(steady_lag),
        "burst_s": burst_s,
        "burst_messages_per_s": round(sender.burst_messages_per_s),
        "lag_after_burst_messages": round(burst_lag),
        "recovered_after_s": round(recovered.at_s - ended_s, 1),
    }


class _Sender(Thread):
    """Sends steadily, then the burst, then steadily until it is to stop."""

    def __init__(
        self, services: Services, first: int, per_s: float, burst_s: float, stop: Event
    ) -> None:
        super().__init__(daemon=True)
        self._producer, self._per_s, self._burst_s = raw_producer(services), per_s, burst_s
        self._stop_event, self.bursts, self.has_burst = stop, Event(), Event()
        self._numbers = itertools.count(first)
        # Made before: making them would take the time of what is measured.
        self._burst = [self._record() for _ in range(round(BURST_TIMES * per_s * burst_s) + 1)]
        self.burst_messages_per_s = 0.0

    def run(self) -> None:
        self._land(self._record, per_s=self._per_s, seconds=STEADY_S)
        self.bursts.set()
        coming, began_s = iter(self._burst), time.monotonic()
        of_burst = partial(next, coming)
        sent = self._land(of_burst, per_s=BURST_TIMES * self._per_s, seconds=self._burst_s)
        self.burst_messages_per_s = sent / (time.monotonic() - began_s)
        self.has_burst.set()
        self._land(self._record, per_s=self._per_s, seconds=_SECONDS_MAX)

    def _land(self, next_record: Callable[[], Record], *, per_s: float, seconds: float) -> int:
        return land_evenly(
            self._producer, next_record, per_s=per_s, seconds=seconds, stop=self._stop_event
        )

    def _record(self) -> Record:
        return record_of(message_for(next(self._numbers), stream=STREAM))


def _rate(looks: Sequence[Look]) -> float:
    return looks[-1].messages_a_second_since(looks[0])


def _arguments() -> argparse.Namespace:
    arguments = arguments_of("backlog", __doc__)
    arguments.add_argument("--messages", type=int, default=2_000_000, help="in the backlog")
    arguments.add_argument("--burst-seconds", type=float, default=10, help="0: no burst")
    return arguments.parse_args()


if __name__ == "__main__":
    main()
