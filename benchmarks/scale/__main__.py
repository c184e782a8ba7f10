"""Runs both sizes of both kinds of traffic, and writes ``build/bench/scale.json``.

``door`` is a fleet at the gateway: what the functions, the registry, S3 and Kafka do for it. The
jobs are stopped meanwhile, and do their part afterwards: functions share no machine with them in
AWS, and here they would wait for it.

What the lanes do for so few messages is little beside what their batches take anyway. ``lanes`` is
traffic of its own, written into Kafka as quickly as it takes it, without the raw archive: the model
is for fleets whose batches are full. What does not grow with messages is measured first, with a few
of them: without any there are no batches.

The machine should have nothing else to do: what others take of it, ``cores_of_others_max``, is time
that functions wait.
"""

import argparse
import time
from contextlib import AbstractContextManager
from typing import Final

from benchmarks.kept_numbers import write_numbers
from benchmarks.running.arguments import arguments_of, emptied
from benchmarks.running.telling import tell
from benchmarks.scale.counts import Counts, Phase
from benchmarks.scale.model import (
    Comparison,
    compared,
    door_measured,
    door_predicted,
    door_units,
    lanes_measured,
    lanes_predicted,
    lanes_units,
    rounded,
)
from benchmarks.scale.platform_counts import CountedPlatform, counted_platform
from benchmarks.scale.traffic import Fleet, Landing
from local.spark.jobs import Application

SECOND_TO_FIRST: Final = 4
_LANDED_PER_S: Final = 6_000.0
_IDLE_PER_S: Final = 10.0


class _Phases:
    def __init__(self, counted: CountedPlatform, arguments: argparse.Namespace) -> None:
        self._counted, self._arguments, self._others = counted, arguments, 0.0
        platform, accepted = counted.platform, counted.accepted
        self._landing = Landing(counted.kafka, accepted)
        self._fleet = Fleet(platform, SECOND_TO_FIRST * arguments.devices, accepted)

    def run(self) -> None:
        """Blocks for some minutes."""
        checks = (self._door(), self._lanes())
        offs = [abs(one["off_by"]) for check in checks for one in check.values()]
        self._keep(
            sent_again=self._counted.accepted.retries,
            cores_of_others_max=round(self._others, 2),
            prediction_off_max=max(offs),
        )

    def _door(self) -> Comparison:
        first = self._at_the_door("door_first", self._arguments.devices)
        second = self._at_the_door("door_second", SECOND_TO_FIRST * self._arguments.devices)
        units = door_units(first)
        check = compared(door_predicted(units, first, second), door_measured(second))
        self._keep(door_units=_rounded(units), door_second_units=_rounded(door_units(second)))
        self._keep(door=check)
        return check

    def _lanes(self) -> Comparison:
        messages = self._arguments.landed
        self._counted.platform.jobs[Application.LAKE].stop()
        self._in_the_lanes("lanes_warm_up", SECOND_TO_FIRST * messages)
        idle = self._idle()
        first = self._in_the_lanes("lanes_first", messages)
        second = self._in_the_lanes("lanes_second", SECOND_TO_FIRST * messages)
        units, of_second = lanes_units(first, idle), lanes_units(second, idle)
        check = compared(lanes_predicted(units, second, idle), lanes_measured(second))
        self._keep(lanes_units=_rounded(units), lanes_second_units=_rounded(of_second))
        self._keep(lanes=check)
        return check

    def _at_the_door(self, name: str, devices: int) -> Phase:
        before = self._counted.look()
        with self._counted.jobs_stopped():
            window = self._window(self._fleet.sending(devices))
        return self._settled(name, before, window)

    def _idle(self) -> Phase:
        before = self._counted.look()
        window = self._window(self._landing.sending(_IDLE_PER_S))
        return self._settled("lanes_idle", before, window)

    def _in_the_lanes(self, name: str, messages: int) -> Phase:
        """From the first message written until the last is done."""
        before = self._counted.look()
        with self._landing.sending(_LANDED_PER_S):
            time.sleep(messages / _LANDED_PER_S)
        self._counted.wait_until_settled()
        return self._settled(name, before, self._counted.look().since(before))

    def _window(self, sending: AbstractContextManager[None]) -> Counts:
        with sending:
            time.sleep(self._arguments.warm_up)
            began = self._counted.look()
            time.sleep(self._arguments.seconds)
            return self._counted.look().since(began)

    def _settled(self, name: str, before: Counts, window: Counts) -> Phase:
        self._others = max(self._others, window.cores_of_others)
        self._counted.wait_until_settled()
        phase = Phase(window=window, whole=self._counted.look().since(before))
        self._keep(**{name: _summary(phase)})
        return phase

    def _keep(self, **numbers: object) -> None:
        """Write numbers at once: an interrupted run keeps those that it has."""
        write_numbers(self._arguments.output, numbers)
        tell(f"{numbers}")


def _summary(phase: Phase) -> dict[str, object]:
    window = phase.window
    return {
        "seconds": round(window.seconds, 1),
        "settled_after_s": round(phase.whole.seconds, 1),
        "messages_per_s": round(phase.messages_per_s, 1),
        "messages": window.messages,
        "cores_of_others": round(window.cores_of_others, 2),
        "cpu_cores": {
            part: round(cpu_s / window.seconds, 3) for part, cpu_s in window.cpu_s.items()
        },
    }


def _rounded(units: dict[str, float]) -> dict[str, float]:
    return {name: rounded(value) for name, value in units.items()}


def main() -> None:
    arguments = _arguments()
    arguments.output.unlink(missing_ok=True)
    with emptied(arguments.folder) as folder:
        folder.mkdir(parents=True)
        with counted_platform(folder) as counted:
            _Phases(counted, arguments).run()
    tell(arguments.output.read_text())


def _arguments() -> argparse.Namespace:
    arguments = arguments_of("scale", __doc__)
    arguments.add_argument(
        "--devices", type=int, default=800, help="of the first size; 200 have all lanes"
    )
    arguments.add_argument("--landed", type=int, default=30_000, help="messages, of the first size")
    arguments.add_argument("--warm-up", type=float, default=20, help="seconds of each size")
    arguments.add_argument("--seconds", type=float, default=40, help="measured, of each size")
    return arguments.parse_args()


if __name__ == "__main__":
    main()
