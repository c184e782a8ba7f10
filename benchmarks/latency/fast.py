"""The fast lane in one of its modes: calm, sparse, by the gateway, and beside lanes that are full.

And what it costs: idle, and by the message beside the standard lane's.

All of it at messages of 1 KB in four partitions; the standard lane has 20 % of what it can do, or
more than it can do. Each part can be run alone, and shorter.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.latency.cluster import Cores, Jobs, lanes_running
from benchmarks.latency.door import open_door
from benchmarks.latency.percentiles import percentiles
from benchmarks.latency.traffic import Load, Span, Traffic
from benchmarks.running.process_tree import tree_cpu_s_by_pid
from benchmarks.running.services import Services
from fleetlane.events.lanes import Lane, LaneTrigger
from local.servers.processes import ServerProcess

PARTS: Final = ("calm", "sparse", "door", "cost", "saturated")
PER_S: Final = 100.0
SPARSE_PER_S: Final = 0.2
_OTHERS: Final = "parse_lane --lane standard; parse_lane --lane slow"
_BATCHES_ENDED_MIN: Final = 2
_CALM_S_MAX: Final = 1_200.0
_UNMEASURED_S: Final = 5.0
_MODE_S_MAX: Final = 240.0
_IN_REAL_TIME: Final = "runs in real time"
_NAMES: Final = {"p50_ms": "fast_p50_ms", "p99_ms": "fast_p99_ms", "p999_ms": "fast_p999_ms"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths:
    """How long each part is, and a batch, if not as shipped.

    The calm part goes on until batches have ended in it.
    """

    messages: int
    sparse_messages: int
    cost_messages: int
    seconds: float
    batch_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """On what and by what it is measured; ``warmed`` gives what the standard lane does a second."""

    services: Services
    traffic: Traffic
    cores: Cores
    warmed: Callable[[Mapping[Lane, ServerProcess]], float]
    land: Callable[[Lane, int], None]
    """Sends a lane so many messages at once."""
    saturate: Callable[[float], None]
    """Leaves the slow and the standard lane, which does so much a second, full from now on."""


class FastLane:
    """The fast lane with one trigger, in an application of its own beside the others'."""

    def __init__(
        self, trigger: LaneTrigger, machine: Machine, lengths: Lengths, folder: Path
    ) -> None:
        self._machine, self._lengths, self._folder = machine, lengths, folder
        self._is_real_time = trigger == LaneTrigger.REAL_TIME
        batches = f" --real_time_batch_ms {lengths.batch_ms}" if lengths.batch_ms else ""
        fast = f"parse_lane --lane fast --trigger {trigger}{batches}"
        self._jobs = Jobs(fast=fast, others=_OTHERS)

    def measured(self, parts: Sequence[str], keep: Callable[[Mapping[str, object]], None]) -> None:
        """Run parts, and hand on what each gives as soon as it is there."""
        machine = self._machine
        with lanes_running(machine.services, self._folder, self._jobs, machine.cores) as jobs:
            standard_per_s = machine.warmed(jobs)
            self._wait_for_mode()
            if "calm" in parts:
                keep(self._calm(standard_per_s / 5))
            if "sparse" in parts:
                keep(self._sparse())
            if "door" in parts:
                keep(self._door())
            if "cost" in parts:
                keep(self._cost(jobs))
            if "saturated" in parts:
                keep(self._saturated(standard_per_s))

    def _wait_for_mode(self) -> None:
        """Wait until the lane is in the mode that is measured, and messages come through.

        The rest of the warm-up comes first, then workers start.

        Raises:
            TimeoutError: It stays in micro-batches, or nothing comes; its log says why.
        """
        log, until_s = self._folder / "fast" / "spark.log", time.monotonic() + _MODE_S_MAX
        load, span = Load(lane=Lane.FAST, per_s=PER_S), Span(seconds=1, unmeasured_s=0)
        is_ready = False
        while not is_ready:
            if time.monotonic() > until_s:
                raise TimeoutError(f"the fast lane is not in real time: see {log}")
            is_in_mode = not self._is_real_time or _IN_REAL_TIME in log.read_text()
            is_ready = is_in_mode and self._fast_alone(load, span).get("messages", 0) > 0
            time.sleep(1)

    def _calm(self, standard_per_s: float) -> dict[str, object]:
        before = self._batches_ended()
        loads = [Load(lane=Lane.FAST, per_s=PER_S), Load(lane=Lane.STANDARD, per_s=standard_per_s)]
        span = Span(
            seconds=self._lengths.messages / PER_S + _UNMEASURED_S,
            unmeasured_s=_UNMEASURED_S,
            is_enough=lambda: self._batches_ended() - before >= _BATCHES_ENDED_MIN,
            seconds_max=_CALM_S_MAX,
        )
        found = percentiles(self._machine.traffic.measured(loads, span)[Lane.FAST].latencies_ms)
        return {
            **{name: found.get(key) for key, name in _NAMES.items()},
            "fast": {**found, "batches_ended": self._batches_ended() - before},
            "standard_per_s": round(standard_per_s),
        }

    def _sparse(self) -> dict[str, object]:
        load = Load(lane=Lane.FAST, per_s=SPARSE_PER_S)
        seconds = self._lengths.sparse_messages / SPARSE_PER_S + _UNMEASURED_S
        found = self._fast_alone(load, Span(seconds=seconds, unmeasured_s=_UNMEASURED_S))
        return {"fast_sparse_p99_ms": found.get("p99_ms"), "fast_sparse": found}

    def _door(self) -> dict[str, object]:
        machine = self._machine
        with open_door(machine.services, self._folder / "gateway", machine.cores.broker) as door:
            latencies_ms = door.latencies_ms(
                seconds=self._lengths.seconds, unmeasured_s=_UNMEASURED_S
            )
        found = percentiles(latencies_ms)
        return {"door_to_canonical_p99_ms": found.get("p99_ms"), "door_to_canonical": found}

    def _cost(self, jobs: Mapping[Lane, ServerProcess]) -> dict[str, object]:
        """Cores of the idle lane's application, and CPU of messages that all come at once.

        An application's CPU is that of its JVM, workers and children.
        """
        began = _cpu_s(jobs[Lane.FAST])
        time.sleep(self._lengths.seconds)
        taken_s = _taken_s(jobs[Lane.FAST], began)
        fast, standard = (self._cpu_us(lane, jobs) for lane in (Lane.FAST, Lane.STANDARD))
        return {
            "fast_idle_cores": round(taken_s / self._lengths.seconds, 3),
            "fast_cpu_to_standard": round(fast / standard, 2),
            "cpu_us_a_message": {Lane.FAST: round(fast), Lane.STANDARD: round(standard)},
        }

    def _cpu_us(self, lane: Lane, jobs: Mapping[Lane, ServerProcess]) -> float:
        messages = self._lengths.cost_messages
        watched = self._machine.traffic.watched(lane, jobs[lane])
        self._machine.land(lane, messages)
        first, began = watched.look_after(messages // 4), _cpu_s(jobs[lane])
        done = watched.look_after(messages).messages - first.messages
        return _taken_s(jobs[lane], began) / done * 1e6

    def _saturated(self, standard_per_s: float) -> dict[str, object]:
        self._machine.saturate(standard_per_s * (self._lengths.seconds + _UNMEASURED_S))
        span = Span(seconds=self._lengths.seconds + _UNMEASURED_S, unmeasured_s=_UNMEASURED_S)
        found = self._fast_alone(Load(lane=Lane.FAST, per_s=PER_S), span)
        return {"fast_p99_saturated_ms": found.get("p99_ms"), "fast_saturated": found}

    def _fast_alone(self, load: Load, span: Span) -> dict[str, int]:
        return percentiles(self._machine.traffic.measured([load], span)[Lane.FAST].latencies_ms)

    def _batches_ended(self) -> int:
        """By the lane's own log: the number of its last batch that was committed."""
        commits = self._folder / "fast" / "checkpoints" / "parse_lane_fast" / "commits"
        return max((int(file.name) for file in commits.glob("[0-9]*")), default=-1) + 1


def _cpu_s(job: ServerProcess) -> Mapping[int, float]:
    return tree_cpu_s_by_pid(job.pid or 0)


def _taken_s(job: ServerProcess, began: Mapping[int, float]) -> float:
    """Of the processes that are there by now: those that ended take theirs with them."""
    return sum(cpu_s - began.get(pid, 0.0) for pid, cpu_s in _cpu_s(job).items())
