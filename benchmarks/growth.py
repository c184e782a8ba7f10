"""What a message costs the standard lane as its topic's partitions grow, and as its flows do.

All messages are equal but for their flow. CPU time is that of JVM, workers and children. A lane is
started once for each number, and its rounds follow each other: a JVM compiles for minutes, the
longer the more tasks a batch has.
"""

import argparse
from collections.abc import Callable
from typing import Final

from confluent_kafka.cimpl import NewPartitions

from benchmarks.kept_numbers import write_numbers
from benchmarks.running.arguments import arguments_of, emptied
from benchmarks.running.messages import deploy_parser, flow_of
from benchmarks.running.services import Services, services
from benchmarks.running.telling import tell
from benchmarks.running.trials import RAW, trial
from fleetlane.events.topics import FLEET_PARSED, PARKED, canonical_topic

PARTITIONS: Final = (1, 4, 16, 64)
FLOWS: Final = (1, 10, 50, 200, 1_000)
FLOWS_PARTITIONS: Final = 4
"""Partitions of the raw topic while the flows grow."""


type Numbers = dict[str, dict[str, float]]


def main() -> None:
    arguments = _arguments()
    for name in arguments.only or MEASURED:
        with emptied(arguments.folder) as folder, services(folder) as ready:
            ready.create_topics(["raw.slow", PARKED, FLEET_PARSED], partitions=FLOWS_PARTITIONS)
            deploy_parser(ready)
            numbers = MEASURED[name](ready, arguments)
            ratios = {ratio: _growth(numbers, *of) for ratio, of in RATIOS[name].items()}
            written = write_numbers(arguments.output, {name: numbers, **ratios})
        tell(written)


def by_partitions(services: Services, arguments: argparse.Namespace) -> Numbers:
    """One flow, and its lane's topic with more and more partitions."""
    services.create_topics([canonical_topic("flow-0")], partitions=FLOWS_PARTITIONS)
    services.create_topics([RAW], partitions=1)
    numbers: Numbers = {}
    for partitions in PARTITIONS:
        if partitions > 1:
            wanted = [NewPartitions(RAW, partitions)]
            services.admin.create_partitions(wanted)[RAW].result()
        numbers[str(partitions)] = _measured(services, arguments, flows=1)
    return numbers


def by_flows(services: Services, arguments: argparse.Namespace) -> Numbers:
    """Flows of one parser, each with a topic of its own to write; their messages take turns."""
    services.create_topics([RAW], partitions=FLOWS_PARTITIONS)
    return {str(flows): _measured(services, arguments, flows=flows) for flows in FLOWS}


MEASURED: Final[dict[str, Callable[[Services, argparse.Namespace], Numbers]]] = {
    "by_partitions": by_partitions,
    "by_flows": by_flows,
}
RATIOS: Final = {
    "by_partitions": {"cpu_64_partitions_to_4": (64, 4)},
    "by_flows": {"cpu_200_flows_to_1": (200, 1), "cpu_1000_flows_to_1": (1_000, 1)},
}


def _growth(numbers: Numbers, of: int, to: int) -> float:
    """How many times as much CPU a message costs where there are ``of``, as where ``to``."""
    return round(_cpu(numbers, of) / _cpu(numbers, to), 2)


def _cpu(numbers: Numbers, count: int) -> float:
    return numbers[str(count)]["cpu_s_per_million"]


def _measured(services: Services, arguments: argparse.Namespace, *, flows: int) -> dict[str, float]:
    streams = [f"flow-{number}" for number in range(flows)]
    services.create_topics(map(canonical_topic, streams), partitions=1)
    services.publish(flow_of(stream) for stream in streams)
    cpu_us, rate = trial(services, arguments, streams, looks=arguments.rounds)
    numbers = {"cpu_s_per_million": round(cpu_us, 1), "messages_per_s": round(rate)}
    partitions = len(services.end_offsets(RAW))
    tell(f"{flows} flows, {partitions} partitions: {numbers}")
    return numbers


def _arguments() -> argparse.Namespace:
    arguments = arguments_of("growth", __doc__)
    arguments.add_argument("--messages", type=int, default=100_000, help="measured, a round")
    arguments.add_argument("--warm-up", type=int, default=450_000, help="before these")
    arguments.add_argument("--rounds", type=int, default=3, help="the median of so many counts")
    names = ("by_partitions", "by_flows")
    arguments.add_argument("--only", nargs="*", choices=names, help="both without it")
    return arguments.parse_args()


if __name__ == "__main__":
    main()
