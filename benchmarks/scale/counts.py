"""What a running platform has done and taken so far, and what of it was in one phase."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Never

import msgspec

from fleetlane.events.lanes import Lane

GATEWAY: Final = "gateway"
LANES: Final = "lanes"
BROKER: Final = "broker"
AWS: Final = "LocalStack"
ARCHIVE: Final = "archive"
PROXY: Final = "counting proxy"
SENDERS: Final = "senders"
MACHINE: Final = "machine"
"""All that runs, whosever it is."""

WRITTEN_EVERY_S: Final = 0.2

INGEST: Final = "ingest"
INGEST_LARGE: Final = "ingest_large"
"""Calls whose body goes to S3 first."""
AUTHORIZER: Final = "authorizer"


class Calls(msgspec.Struct, frozen=True, kw_only=True):
    """Calls of one function: their CPU, their time, and that in whole milliseconds, as AWS bills.

    CPU is that of the thread which runs the handler.
    """

    calls: int = 0
    cpu_s: float = 0.0
    ran_s: float = 0.0
    billed_s: float = 0.0

    def since(self, before: "Calls") -> "Calls":
        return Calls(
            calls=self.calls - before.calls,
            cpu_s=self.cpu_s - before.cpu_s,
            ran_s=self.ran_s - before.ran_s,
            billed_s=self.billed_s - before.billed_s,
        )

    def beside(self, other: "Calls") -> "Calls":
        """Both together."""
        return Calls(
            calls=self.calls + other.calls,
            cpu_s=self.cpu_s + other.cpu_s,
            ran_s=self.ran_s + other.ran_s,
            billed_s=self.billed_s + other.billed_s,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Counted since the start, or between two moments, which are ``seconds`` apart.

    ``messages`` and ``body_bytes`` are of what was accepted, by lane; ``cpu_s`` is by part, of all
    its processes. ``payload_requests`` are S3's, of bodies by reference.
    """

    seconds: float
    messages: Mapping[Lane, int]
    body_bytes: Mapping[Lane, int]
    cpu_s: Mapping[str, float]
    calls: Mapping[str, Calls]
    raw_bytes: int
    output_bytes: int
    registry_reads: int
    payload_requests: int

    @property
    def all_messages(self) -> int:
        return sum(self.messages.values())

    def since(self, before: "Counts") -> "Counts":
        none = Calls()
        return Counts(
            seconds=self.seconds - before.seconds,
            messages=_grown(self.messages, before.messages),
            body_bytes=_grown(self.body_bytes, before.body_bytes),
            cpu_s={part: cpu_s - before.cpu_s.get(part, 0.0) for part, cpu_s in self.cpu_s.items()},
            calls={
                name: calls.since(before.calls.get(name, none))
                for name, calls in self.calls.items()
            },
            raw_bytes=self.raw_bytes - before.raw_bytes,
            output_bytes=self.output_bytes - before.output_bytes,
            registry_reads=self.registry_reads - before.registry_reads,
            payload_requests=self.payload_requests - before.payload_requests,
        )

    @property
    def cores_of_others(self) -> float:
        """What programs took that are none of ours: they make ours wait."""
        return (2 * self.cpu_s[MACHINE] - sum(self.cpu_s.values())) / self.seconds

    def cpu_us_per_s(self, part: str) -> float:
        return self.cpu_s[part] / self.seconds * 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One size: ``window`` amid steady traffic, ``whole`` from the first message until all is done.

    What is done some time after its message came is counted in the whole.
    """

    window: Counts
    whole: Counts

    @property
    def messages_per_s(self) -> float:
        return self.window.all_messages / self.window.seconds

    @property
    def evenly(self) -> Counts:
        """The whole, as if it had taken as long as at the window's pace."""
        return replace(self.whole, seconds=self.whole.all_messages / self.messages_per_s)


def _grown(after: Mapping[Lane, int], before: Mapping[Lane, int]) -> Mapping[Lane, int]:
    grown = {lane: count - before.get(lane, 0) for lane, count in after.items()}
    return {lane: count for lane, count in grown.items() if count}


def keep_writing(file: Path, counted: Callable[[], object]) -> Never:
    """Write the counts of this process as JSON, for another to read, every ``WRITTEN_EVERY_S``."""
    beside = file.with_suffix(".new")
    while True:
        beside.write_bytes(msgspec.json.encode(counted()))
        beside.replace(file)  # whoever reads never sees half of it
        time.sleep(WRITTEN_EVERY_S)
