"""Runs the phases, and writes ``build/bench/bulk.json``.

First the bulk lane drains what the standard lane drains, on as many task slots; then one worker and
two drain messages that take 20 ms each. A worker is a task slot here. Then large messages of one
flow come in evenly: alone; beside a quarantined device, a flow whose parser hangs, and a replay;
and beside these while the replay's backlog is a million.
"""

import argparse
from copy import replace
from pathlib import Path
from typing import Final

from benchmarks.bulk.cause_traffic import CauseTraffic, Flood, Others, bulk_topic
from benchmarks.bulk.deferrals import deferrals_a_message_max
from benchmarks.bulk.drains import Drain, drained_per_s
from benchmarks.kept_numbers import write_numbers
from benchmarks.latency.cluster import MACHINE
from benchmarks.latency.percentiles import percentile_ms, percentiles
from benchmarks.latency.traffic import stored_by_the_brokers_clock
from benchmarks.parse.workload import PARTITIONS
from benchmarks.running.application import running
from benchmarks.running.arguments import arguments_of, emptied
from benchmarks.running.messages import HANG, REST, deploy_parser, flow_of, land_all, message_for
from benchmarks.running.services import Services, services
from benchmarks.running.telling import tell
from fleetlane.events.lanes import BulkCause, Lane
from fleetlane.events.topics import FLEET_PARSED, PARKED, RawTopic, canonical_topic

STEADY: Final = "steady"
OTHERS: Final = "others"
RESTING: Final = tuple(f"resting-{number}" for number in range(8))
QUARANTINED: Final = Flood(
    stream="runaway", cause=BulkCause.QUARANTINED, per_s=100, device_id="device-runaway"
)
HANGING: Final = Flood(stream="hanging", cause=BulkCause.LATE, per_s=50, act=HANG)
REPLAYED: Final = "replayed"
STREAMS: Final = (STEADY, OTHERS, *RESTING, QUARANTINED.stream, HANGING.stream, REPLAYED)
BULK: Final = f"parse_lane --lane {Lane.BULK}"
STANDARD: Final = f"parse_lane --lane {Lane.STANDARD}"
RAW_STANDARD: Final = str(RawTopic(lane=Lane.STANDARD))
OVER: Final = tuple(bulk_topic(cause, is_over=True) for cause in BulkCause)
RAW: Final = (RAW_STANDARD, str(RawTopic(lane=Lane.SLOW)), *map(bulk_topic, BulkCause), *OVER)
_WARM_UP_LARGE: Final = 10.0
_WAIT_S_MAX: Final = 120.0


def main() -> None:
    arguments = _arguments()
    with emptied(arguments.folder) as folder, services(folder) as ready:
        ready.create_topics([*RAW, FLEET_PARSED, PARKED], partitions=PARTITIONS)
        ready.create_topics(map(canonical_topic, STREAMS), partitions=PARTITIONS)
        stored_by_the_brokers_clock(ready, [OTHERS])
        deploy_parser(ready)
        ready.publish(flow_of(stream, owner=f"of-{stream}") for stream in STREAMS)
        phases = _Phases(ready, arguments)
        if "rate" in arguments.only:
            phases.rates()
        if "workers" in arguments.only:
            phases.workers()
        if "floods" in arguments.only:
            phases.floods()


class _Phases:
    def __init__(self, services: Services, arguments: argparse.Namespace) -> None:
        self._services, self._arguments = services, arguments
        self._folder: Path = services.folder
        self._traffic = CauseTraffic(services)

    def keep(self, **numbers: object) -> None:
        """Write numbers at once: an interrupted run keeps those that it has."""
        write_numbers(self._arguments.output, numbers)
        tell(f"{numbers}")

    def rates(self) -> None:
        """The same messages through the standard lane and through the bulk lane, in turn."""
        warm_up, messages = self._arguments.warm_up, self._arguments.messages
        total = warm_up + messages
        drain = Drain(jobs=STANDARD, streams=(STEADY,), warm_up=warm_up, messages=messages)
        land_all(self._services, (message_for(number, stream=STEADY) for number in range(total)))
        standard = self._drained("standard", drain)
        self._traffic.land(total, stream=STEADY, cause=BulkCause.LATE)
        bulk = self._drained("bulk", replace(drain, jobs=BULK))
        self.keep(
            standard_per_s=round(standard),
            bulk_per_s=round(bulk),
            bulk_to_standard_rate=round(bulk / standard, 2),
        )

    def workers(self) -> None:
        """Messages that take 20 ms, by one worker and by two; a worker has one task slot."""
        per_s = dict[int, float]()
        for workers in (1, 2):
            drain = Drain(
                jobs=f"{BULK} --workers {workers}",
                streams=RESTING,
                warm_up=50 * workers,
                messages=self._arguments.resting * workers,
                task_slots=workers,
            )
            for stream in RESTING:
                share = 2 * (drain.warm_up + drain.messages) // len(RESTING)
                self._traffic.land(share, stream=stream, cause=BulkCause.LATE, act=REST)
            per_s[workers] = self._drained(f"workers_{workers}", drain)
        self.keep(
            one_worker_per_s=round(per_s[1], 1),
            two_workers_per_s=round(per_s[2], 1),
            two_workers_to_one=round(per_s[2] / per_s[1], 2),
        )

    def floods(self) -> None:
        """Large messages of one flow: alone, beside floods, and beside what these have left."""
        deleted = self._deleted()
        with running(self._services, self._folder / "floods", BULK, MACHINE):
            self._others(_WARM_UP_LARGE)
            alone = self._others(self._arguments.seconds)
            self.keep(others_alone=_summary(alone))
            with self._traffic.flooding([QUARANTINED, HANGING]):
                self._replay(self._arguments.replayed)
                beside = self._others(self._arguments.seconds)
                self.keep(others_beside_floods=_summary(beside))
                self._replay(self._arguments.backlog)
                backlog = self._others(self._arguments.seconds)
                self.keep(others_beside_backlog=_summary(backlog))
        ratios = [_p95_ratio(one, alone) for one in (beside, backlog)]
        self.keep(
            others_p95_ratio=max(ratios),
            others_p95_ratio_beside_floods=ratios[0],
            others_p95_ratio_beside_backlog=ratios[1],
            put_offs_a_message_max=deferrals_a_message_max(self._services, OVER),
            expired_unread=self._deleted() - deleted,
        )

    def _deleted(self) -> int:
        """How many records were deleted from raw topics so far, by us or as they expired."""
        return sum(sum(self._services.begin_offsets(topic)) for topic in RAW)

    def _replay(self, messages: int) -> None:
        self._traffic.land(messages, stream=REPLAYED, cause=BulkCause.REPLAYED)

    def _others(self, seconds: float) -> Others:
        return self._traffic.others(
            OTHERS, per_s=self._arguments.others_per_s, seconds=seconds, wait_s_max=_WAIT_S_MAX
        )

    def _drained(self, name: str, drain: Drain) -> float:
        per_s = drained_per_s(self._services, self._folder / name, drain)
        tell(f"{name}: {per_s:.1f} messages/s")
        self._services.delete_records(RAW)
        return per_s


def _summary(others: Others) -> dict[str, int]:
    return {**percentiles(others.latencies_ms), "missing": others.missing}


def _p95_ratio(beside: Others, alone: Others) -> float:
    """What did not come out in time took longer than all that did."""
    taken = [*beside.latencies_ms, *[round(_WAIT_S_MAX * 1000)] * beside.missing]
    return round(percentile_ms(taken, 0.95) / percentile_ms(alone.latencies_ms, 0.95), 2)


def _arguments() -> argparse.Namespace:
    arguments = arguments_of("bulk", __doc__)
    arguments.add_argument("--messages", type=int, default=60_000, help="drained, a lane")
    arguments.add_argument("--warm-up", type=int, default=60_000, help="before these")
    arguments.add_argument("--resting", type=int, default=1_000, help="of 20 ms, for a worker")
    arguments.add_argument("--seconds", type=float, default=50, help="large messages, a phase")
    arguments.add_argument("--others-per-s", type=float, default=2.5, help="large messages")
    arguments.add_argument("--replayed", type=int, default=200_000)
    arguments.add_argument("--backlog", type=int, default=1_000_000, help="replayed besides")
    runs = ("rate", "workers", "floods")
    arguments.add_argument("--only", nargs="*", choices=runs, default=runs)
    return arguments.parse_args()


if __name__ == "__main__":
    main()
