"""A platform to be counted on: what it accepted, did and took so far."""

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from benchmarks.running.process_tree import tree_cpu_s
from benchmarks.running.services import Services
from benchmarks.scale.counting_proxy import PAYLOAD, PAYLOAD_COPY, REGISTRY_READ, ProxyProcess
from benchmarks.scale.counts import (
    ARCHIVE,
    AWS,
    BROKER,
    GATEWAY,
    LANES,
    MACHINE,
    PROXY,
    SENDERS,
    WRITTEN_EVERY_S,
    Counts,
)
from benchmarks.scale.timed_gateway import FILE_VARIABLE, MODULE, calls_in
from benchmarks.scale.traffic import Accepted
from fleetlane.events.job_arguments import LakeTables
from fleetlane.events.lanes import Lane, LaneTrigger
from fleetlane.events.topics import FLEET_PARSED, FLEET_RECEIVED, PARKED
from infra.cost.scenario import LARGE_LANES
from local.platform import Platform, PlatformSettings
from local.servers.processes import ServerProcess
from local.spark.jobs import Application

JOBS: Final = {
    Application.LANES: "; ".join(
        [
            f"parse_lane --lane {Lane.FAST} --trigger {LaneTrigger.MICRO_BATCHES}",
            *(f"parse_lane --lane {lane}" for lane in Lane if lane is not Lane.FAST),
            "fleet_metadata",
        ]
    ),
    Application.LAKE: f"lake --tables {LakeTables.ARCHIVE} --lake_trigger_ms 20000",
}
"""With a stage's triggers, but for the archive's, which a stage makes wait for minutes. The rest of
the lake and the watch are left out: the model has no figure of what they take a message."""

_OUTPUTS: Final = re.compile(r"(canonical\..+|fleet\.received|fleet\.parsed|parked)-\d+")
_RAW: Final = re.compile(r"raw\..+-\d+")
_SETTLED_S_MAX: Final = 180.0
_LOOK_EVERY_S: Final = 0.5


class NotSettledError(Exception):
    """What was accepted was not done in time, or was parked."""


class CountedPlatform:
    """A running platform, and what was accepted by it; ``accepted`` is for those who send."""

    def __init__(self, platform: Platform, proxy: ProxyProcess, calls_file: Path) -> None:
        self.platform, self.accepted = platform, Accepted()
        self._proxy, self._calls_file = proxy, calls_file
        folder = platform.settings.folder.resolve()
        self.kafka = Services.of(platform.broker, platform.aws, folder)
        self._data = folder / "kafka" / "data"

    def look(self) -> Counts:
        """Count what was done so far; what runs just now may be in it or not."""
        time.sleep(WRITTEN_EVERY_S)  # so often it is written what the others count
        counted = self._proxy.counted()
        return Counts(
            seconds=time.monotonic(),
            messages=dict(self.accepted.messages),
            body_bytes=dict(self.accepted.body_bytes),
            cpu_s={
                MACHINE: _machine_cpu_s(),
                SENDERS: time.process_time(),
                **{
                    name: tree_cpu_s(part.pid or 0)
                    for name, part in self._parts().items()
                    if part.is_alive()
                },
            },
            calls=calls_in(self._calls_file),
            raw_bytes=_log_bytes(self._data, _RAW),
            output_bytes=_log_bytes(self._data, _OUTPUTS),
            registry_reads=counted[REGISTRY_READ],
            payload_requests=counted[PAYLOAD] + counted[PAYLOAD_COPY],
        )

    @contextmanager
    def jobs_stopped(self) -> Iterator[None]:
        """Without the jobs while the block runs; after it they do what came meanwhile."""
        jobs = self.platform.jobs.values()
        for one in jobs:
            one.stop()
        yield
        for one in jobs:
            one.start()

    def wait_until_settled(self) -> None:
        """Until all that was accepted is parsed, known to the fleet, and archived.

        Raises:
            NotSettledError: It is not in time, or a message was parked.
        """
        until_s = time.monotonic() + _SETTLED_S_MAX
        while self._waiting():
            if time.monotonic() > until_s:
                raise NotSettledError(f"{self._waiting()} records in {_SETTLED_S_MAX:g} s")
            time.sleep(_LOOK_EVERY_S)
        if parked := self.kafka.end_offset(PARKED):
            raise NotSettledError(f"{parked} messages are parked")

    def _waiting(self) -> int:
        """Of the part that has most to do yet."""
        messages = self.accepted.messages
        copies = sum(messages[lane] for lane in LARGE_LANES) - self._proxy.counted()[PAYLOAD_COPY]
        ends = (self.kafka.end_offset(topic) for topic in (FLEET_PARSED, FLEET_RECEIVED))
        return max(0, copies, *(messages.total() - end for end in ends))

    def _parts(self) -> dict[str, ServerProcess]:
        platform = self.platform
        return {
            GATEWAY: platform.gateway,
            LANES: platform.jobs[Application.LANES],
            ARCHIVE: platform.jobs[Application.LAKE],
            BROKER: platform.broker,
            AWS: platform.aws,
            PROXY: self._proxy,
        }


@contextmanager
def counted_platform(folder: Path) -> Iterator[CountedPlatform]:
    """Start one without a canary; its functions and jobs reach LocalStack through a counter."""
    folder = folder.resolve()
    calls_file, data = folder / "calls.json", folder / "data"
    proxy = ProxyProcess(folder, upstream_port=data / "aws" / "port.json")
    proxy.start()
    try:
        reach = {"AWS_ENDPOINT_URL_S3": proxy.url, "AWS_ENDPOINT_URL_DYNAMODB": proxy.url}
        settings = PlatformSettings(
            folder=data,
            functions_environment={**reach, FILE_VARIABLE: str(calls_file)},
            jobs_environment=reach,
            gateway_module=MODULE,
            jobs=JOBS,
        )
        with Platform(settings) as platform:
            platform.start(lambda _: None)
            yield CountedPlatform(platform, proxy, calls_file)
    finally:
        proxy.stop()


def _log_bytes(data: Path, name: re.Pattern[str]) -> int:
    """What the partitions whose folders have such a name take on the disk, their indexes aside."""
    folders = (folder for folder in data.iterdir() if name.fullmatch(folder.name))
    return sum(file.stat().st_size for folder in folders for file in folder.glob("*.log"))


def _machine_cpu_s() -> float:
    """The CPU time of all that ran since the machine started; waiting for disks is none."""
    ticks = [int(one) for one in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return (sum(ticks) - sum(ticks[3:5])) / os.sysconf("SC_CLK_TCK")
