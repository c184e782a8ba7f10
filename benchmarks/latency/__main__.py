"""Runs the phases, and writes ``build/bench/latency.json``.

``shipped`` are three lanes as they are: the fast one writes its progress beside its batches, the
others between them. It has three phases: the fast lane alone; all lanes at 20 % load; and the fast
lane while the slow one has more than it can do and 1 % of standard messages take 200 or 400 ms.
``exchanged`` is the second phase with progress the other way round.

``calm``, ``sparse``, ``door``, ``cost`` and ``saturated`` are of the fast lane in real time
(``fast``), and ``micro_batches`` the same, or all of them, in the mode it had before, shorter.
"""

import argparse
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from benchmarks.kept_numbers import write_numbers
from benchmarks.latency.cluster import MACHINE, Cores, Jobs, lanes_running
from benchmarks.latency.fast import PARTS, FastLane, Lengths, Machine
from benchmarks.latency.percentiles import percentiles, ratios
from benchmarks.latency.traffic import (
    STREAMS,
    Load,
    Measured,
    Span,
    Traffic,
    stored_by_the_brokers_clock,
)
from benchmarks.parse.workload import PARTITIONS
from benchmarks.running.arguments import arguments_of, emptied
from benchmarks.running.messages import (
    Act,
    all_delivered,
    deploy_parser,
    flow_of,
    land,
    raw_producer,
)
from benchmarks.running.services import Services, services
from benchmarks.running.telling import tell
from fleetlane.events.lanes import Lane, LaneTrigger
from fleetlane.events.topics import (
    FLEET_HEARTBEATS,
    FLEET_PARSED,
    PARKED,
    RawTopic,
    canonical_topic,
)
from local.servers.processes import ServerProcess

SHIPPED: Final = Jobs(
    fast="parse_lane --lane fast --trigger micro-batches",
    others="parse_lane --lane standard; parse_lane --lane slow",
)
EXCHANGED: Final = Jobs(
    fast="parse_lane --lane fast --trigger_ms 1", others="parse_lane --lane standard --trigger_ms 0"
)
RAW_TOPICS: Final = (
    *(str(RawTopic(lane=lane)) for lane in STREAMS),
    str(RawTopic(lane=Lane.SLOW, is_over=True)),
)
LOAD: Final = 0.2
SLOW_PER_S: Final = 4
SOMETIMES_SLOW: Final[tuple[Act, ...]] = (*[None] * 99, 200, *[None] * 99, 400)
SATURATING: Final = 400
SATURATING_MS: Final = 1_500
_UNMEASURED_S: Final = 5.0
_UNTIL_SATURATED_S: Final = 15.0


def main() -> None:
    arguments = _arguments()
    cores = Cores.halves(broker=arguments.broker)
    java_options = MACHINE.jvm.java_options
    with emptied(arguments.folder) as folder, services(folder, java_options=java_options) as ready:
        topics = (*RAW_TOPICS, FLEET_PARSED, PARKED, FLEET_HEARTBEATS)
        canonical = (canonical_topic(stream) for stream in STREAMS.values())
        ready.create_topics([*topics, *canonical], partitions=PARTITIONS)
        stored_by_the_brokers_clock(ready, STREAMS.values())
        deploy_parser(ready)
        ready.publish(flow_of(stream, lane=lane) for lane, stream in STREAMS.items())
        phases = _Phases(ready, Traffic(ready), arguments, cores)
        phases.keep({"cores": str(cores), "seconds": arguments.seconds})
        parts = [part for part in PARTS if part in arguments.only]
        if parts:
            phases.fast(LaneTrigger.REAL_TIME, parts, share=1.0)
        if "micro_batches" in arguments.only:
            share = arguments.micro_batches_share
            phases.fast(LaneTrigger.MICRO_BATCHES, parts or PARTS, share=share)
        if "shipped" in arguments.only:
            phases.shipped()
        if "exchanged" in arguments.only:
            phases.exchanged()


class _Phases:
    def __init__(
        self, services: Services, traffic: Traffic, arguments: argparse.Namespace, cores: Cores
    ) -> None:
        self._services, self._traffic, self._arguments = services, traffic, arguments
        self._cores, self._folder = cores, services.folder
        self._span = Span(seconds=arguments.seconds + _UNMEASURED_S, unmeasured_s=_UNMEASURED_S)

    def keep(self, numbers: Mapping[str, object]) -> None:
        """Write numbers at once: an interrupted run keeps those that it has."""
        write_numbers(self._arguments.output, numbers)
        tell(f"{dict(numbers)}")

    def fast(self, trigger: LaneTrigger, parts: Sequence[str], *, share: float) -> None:
        """Measure the fast lane in one mode, for such a share of the lengths asked for."""
        arguments, is_real_time = self._arguments, trigger is LaneTrigger.REAL_TIME
        lengths = Lengths(
            messages=round(share * arguments.messages),
            sparse_messages=round(share * arguments.sparse_messages),
            cost_messages=arguments.cost_messages,
            seconds=share * arguments.seconds,
            batch_ms=arguments.batch_ms,
        )
        machine = Machine(
            services=self._services,
            traffic=self._traffic,
            cores=self._cores,
            warmed=lambda jobs: self._loads(jobs)[1].per_s / LOAD,
            land=self._land,
            saturate=self._saturate,
        )
        kept = dict[str, object]()

        def keep(numbers: Mapping[str, object]) -> None:
            kept.update(numbers)
            self.keep(numbers if is_real_time else {"micro_batches": kept})

        self._services.delete_records(RAW_TOPICS)
        self._land_to_warm_up()
        FastLane(trigger, machine, lengths, self._folder / trigger).measured(parts, keep)

    def shipped(self) -> None:
        self._services.delete_records(RAW_TOPICS)
        self._land_to_warm_up()
        with lanes_running(self._services, self._folder / "shipped", SHIPPED, self._cores) as jobs:
            fast, standard = self._loads(jobs)
            slow = Load(lane=Lane.SLOW, per_s=SLOW_PER_S)
            loads = (fast, standard, slow)
            self.keep({"messages_per_s": {load.lane: load.per_s for load in loads}})
            alone = self._traffic.measured([fast], self._span)
            self.keep({"fast_alone": _percentiles(alone)})
            all_lanes = self._traffic.measured(loads, self._span)
            self.keep({"all_lanes": _percentiles(all_lanes)})
            disturbed = self._disturbed(fast, standard)
            self.keep({"disturbed": _percentiles(disturbed)})
            self.keep(ratios(alone=alone, all_lanes=all_lanes, disturbed=disturbed))

    def _saturate(self, standard_messages: float) -> None:
        """Land more than the slow and the standard lane can do."""
        self._land(Lane.SLOW, SATURATING, SATURATING_MS)
        self._land(Lane.STANDARD, round(standard_messages))

    def exchanged(self) -> None:
        self._services.delete_records(RAW_TOPICS)
        self._land_to_warm_up()
        folder = self._folder / "exchanged"
        with lanes_running(self._services, folder, EXCHANGED, self._cores) as jobs:
            measured = self._traffic.measured(self._loads(jobs), self._span)
            self.keep({"exchanged": _percentiles(measured)})

    def _disturbed(self, fast: Load, standard: Load) -> Mapping[Lane, Measured]:
        self._land(Lane.SLOW, SATURATING, SATURATING_MS)
        sick = Load(lane=Lane.STANDARD, per_s=standard.per_s, acts=SOMETIMES_SLOW)
        seconds = self._arguments.seconds + _UNTIL_SATURATED_S
        span = Span(seconds=seconds, unmeasured_s=_UNTIL_SATURATED_S)
        return self._traffic.measured([fast, sick], span)

    def _land_to_warm_up(self) -> None:
        for lane in STREAMS:
            self._land(lane, 20 if lane is Lane.SLOW else self._arguments.warm_up)

    def _land(self, lane: Lane, messages: int, act: Act = None) -> None:
        producer = raw_producer(self._services)
        for _ in range(messages):
            land(producer, self._traffic.record(lane, act))
            producer.poll(0)
        all_delivered(producer)

    def _loads(self, jobs: Mapping[Lane, ServerProcess]) -> tuple[Load, Load]:
        """A fifth of what each lane does when it drains the second half of its warm-up."""
        given = {
            Lane.FAST: self._arguments.fast_per_s,
            Lane.STANDARD: self._arguments.standard_per_s,
        }
        with ThreadPoolExecutor() as threads:
            rates = threads.map(lambda lane: self._drained_per_s(lane, jobs[lane]), given)
            fast, standard = (
                Load(lane=lane, per_s=given[lane] or round(LOAD * rate))
                for lane, rate in zip(given, rates, strict=True)
            )
        return fast, standard

    def _drained_per_s(self, lane: Lane, job: ServerProcess) -> float:
        watched, messages = self._traffic.watched(lane, job), self._arguments.warm_up
        began = watched.look_after(messages // 2)
        return watched.look_after(messages).messages_a_second_since(began)


def _percentiles(measured: Mapping[Lane, Measured]) -> dict[str, dict[str, int]]:
    return {lane: percentiles(of.latencies_ms) for lane, of in measured.items()}


def _arguments() -> argparse.Namespace:
    arguments = arguments_of("latency", __doc__)
    arguments.add_argument("--seconds", type=float, default=50, help="measured, a phase")
    arguments.add_argument("--messages", type=int, default=20_000, help="of the calm part")
    arguments.add_argument("--batch-ms", type=int, help="of real time, if not as shipped")
    arguments.add_argument("--sparse-messages", type=int, default=40, help="one each 5 s")
    arguments.add_argument("--cost-messages", type=int, default=30_000, help="at once, a lane")
    arguments.add_argument(
        "--micro-batches-share", type=float, default=0.25, help="of the lengths, in the old mode"
    )
    arguments.add_argument("--warm-up", type=int, default=40_000, help="messages before, a lane")
    arguments.add_argument("--fast-per-s", type=float, help="instead of 20 %% of what it can do")
    arguments.add_argument("--standard-per-s", type=float, help="likewise")
    beside = ("fast", "others", "all")
    arguments.add_argument("--broker", choices=beside, default="all", help="on whose cores")
    runs = (*PARTS, "micro_batches", "shipped", "exchanged")
    arguments.add_argument("--only", nargs="*", choices=runs, default=runs)
    return arguments.parse_args()


if __name__ == "__main__":
    main()
