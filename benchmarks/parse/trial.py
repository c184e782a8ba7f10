"""One contender measured: its CPU time and its rate, between two measurements of its output."""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.parse.contenders import Contender
from benchmarks.parse.jvm_copy import COPIES_TOPIC
from benchmarks.parse.outputs import check_records
from benchmarks.parse.workload import STREAM, flow
from benchmarks.running.application import environment
from benchmarks.running.services import Services
from benchmarks.running.watched import Watched
from fleetlane.events.topics import FLEET_PARSED, canonical_topic
from local.checkout import ROOT
from local.servers.processes import ServerProcess

_SECONDS_MAX: Final = 1_200.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What one run cost, over the messages after the warm-up."""

    cpu_us_a_message: float
    messages_a_second: float


def measured(
    contender: Contender, services: Services, *, folder: Path, warm_up: int, messages: int
) -> Trial:
    """Run a contender from the first message on, until it has done those that are measured.

    Raises:
        NotDoneError: It ended early, took too long, or wrote anything but what is expected.
    """
    services.publish([flow(contender.loops, contender.sleep_ms)])
    topic = contender.output_topic
    before = services.end_offset(topic)
    with ExitStack() as stack:
        processes = []
        for number, command in enumerate(contender.commands(services, folder, contender.loops)):
            process = ServerProcess(
                contender.name,
                list(command),
                log_path=folder / f"{number}.log",
                env=dict(environment(services)),
                cwd=ROOT,
            )
            stack.callback(process.kill)
            process.start()
            processes.append(process)
        watched = Watched(
            processes,
            done=lambda: (services.end_offset(topic) - before) / contender.records_a_message,
            seconds_max=_SECONDS_MAX,
        )
        began = watched.look_after(contender.warm_ups * warm_up)
        ended = watched.look_after(round(began.messages + messages * contender.share))
    if topic != COPIES_TOPIC:
        check_records(services, topic)
    services.delete_records((canonical_topic(STREAM), FLEET_PARSED, COPIES_TOPIC))
    return Trial(
        cpu_us_a_message=ended.cpu_us_a_message_since(began),
        messages_a_second=ended.messages_a_second_since(began),
    )
