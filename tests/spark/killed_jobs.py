"""A job in a process of its own, to be killed in mid-batch, and what its checkpoint says then."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import orjson

from fleetlane.events.job_arguments import KafkaSecurity
from fleetlane.events.stage_resources import StageResources
from local.checkout import ROOT
from local.servers.kafka import KafkaBroker
from local.servers.localstack import LocalAws
from local.servers.processes import ServerProcess
from local.spark.jobs import JobSettings, LocalLake, job_environment, spark_submit
from operations.endpoints import REGION, variables_for

WAIT_S: Final = 240.0

type Offsets = Mapping[str, Mapping[str, int]]
"""By topic and partition."""


def killable_settings(
    folder: Path, *, bucket: str, broker: KafkaBroker, aws: LocalAws
) -> JobSettings:
    """Settings of a job that reads this broker, and has one bucket, made here, for all."""
    aws.ensure_bucket(bucket)
    resources = StageResources(
        stage="none",
        region=REGION,
        api_url="",
        kafka_bootstrap_servers=broker.bootstrap_servers,
        kafka_security=KafkaSecurity.PLAINTEXT,
        devices_table="none",
        flows_bucket=bucket,
        overrides_bucket="none",
        payload_bucket=bucket,
        parked_bucket=bucket,
        lake_bucket=bucket,
        flow_activation_function="",
    )
    return JobSettings(
        folder=folder,
        resources=resources,
        lake=LocalLake(folder / "lake"),
        environment=variables_for(aws.client_settings),
    )


@contextmanager
def running_job(settings: JobSettings, *argv: str, task_slots: int = 2) -> Iterator[ServerProcess]:
    """Jobs in their host, as spark-submit starts it; killed at the end, if not before."""
    process = ServerProcess(
        "host.py",
        [
            *spark_submit(settings.folder, task_slots=task_slots),
            str(ROOT / "glue_jobs" / "host.py"),
            *argv,
        ],
        log_path=settings.folder / "spark.log",
        env=job_environment(settings, settings.folder),
        cwd=ROOT,
    )
    process.start()
    try:
        yield process
    finally:
        process.kill()


def checkpoint_folder(settings: JobSettings) -> Path:
    """Where the queries' checkpoints are, each in a folder of its name."""
    return settings.folder / "checkpoints"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A query's batches, numbered from 0 on; -1 where there is none yet."""

    folder: Path

    @classmethod
    def of(cls, settings: JobSettings, query: str) -> "Checkpoint":
        return cls(folder=checkpoint_folder(settings) / query)

    @property
    def begun(self) -> int:
        return self._last("offsets")

    @property
    def done(self) -> int:
        return self._last("commits")

    def ends(self, batch: int) -> Offsets:
        """Up to where a batch goes; empty before the first."""
        if batch < 0:
            return {}
        lines = (self.folder / "offsets" / str(batch)).read_text().splitlines()
        ends: Offsets = orjson.loads(lines[-1])
        return ends

    def _last(self, kind: str) -> int:
        return max((int(path.name) for path in (self.folder / kind).glob("[0-9]*")), default=-1)
