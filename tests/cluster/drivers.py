"""The jobs' drivers on a cluster: what a deploy uploads, from S3, checkpoints in S3 too."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from benchmarks.running.spark_cluster import SparkCluster
from infra.artifacts.folder import ENVIRONMENT, JARS, PYTHON, SCRIPT, SOURCES
from local.checkout import LAPTOP_JARS
from local.servers.java import LAPTOP
from local.servers.processes import ServerProcess
from local.spark.jobs import Application, JobSettings, host_argv
from tests.rehearsal.emr import unpacked

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

CODE: Final = "fleetlane-code"
CHECKPOINTS: Final = "fleetlane-checkpoints"
_PLACE: Final = "environment"


@dataclass(frozen=True, slots=True)
class Executors:
    """How many an application has, and how many slots each."""

    count: int
    slots: int


_EXECUTORS: Final[Mapping[Application, Executors]] = {
    Application.LANES: Executors(2, 6),
    Application.LAKE: Executors(1, 4),
}


def upload_code(s3: "S3Client", jobs: Path) -> None:
    """Put what a deploy uploads of the jobs into S3; ``jobs`` is where it was built."""
    for path in (jobs / SCRIPT, jobs / SOURCES, jobs / ENVIRONMENT, *(jobs / JARS).iterdir()):
        s3.upload_file(str(path), CODE, path.name)


class Driver(ServerProcess):
    """One application's driver, by ``spark-submit`` in client mode; ``jobs`` has what was built.

    ``spark_settings`` come before its own.
    """

    def __init__(
        self,
        settings: JobSettings,
        application: Application,
        *,
        cluster: SparkCluster,
        jobs: Path,
        spark_settings: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._folder, self._environment = settings.folder / application, jobs / ENVIRONMENT
        self._folder.mkdir(parents=True)
        python = f"./{_PLACE}/{PYTHON}"
        executors, jars = _EXECUTORS[application], [one.name for one in (jobs / JARS).iterdir()]
        configuration = {
            "spark.jars": ",".join(f"s3://{CODE}/{name}" for name in sorted(jars)),
            "spark.submit.pyFiles": f"s3://{CODE}/{SOURCES}",
            "spark.archives": f"s3://{CODE}/{ENVIRONMENT}#{_PLACE}",
            "spark.executorEnv.PYTHONPATH": f"./{_PLACE}",
            "spark.executorEnv.PYSPARK_PYTHON": python,
            "spark.executor.cores": str(executors.slots),
            "spark.cores.max": str(executors.count * executors.slots),
            "spark.executor.memory": "1g",
            "spark.driver.extraClassPath": ":".join(map(str, LAPTOP_JARS.glob("*.jar"))),
            "spark.sql.catalogImplementation": "in-memory",
            "spark.sql.shuffle.partitions": "2",
            "spark.log.level": "WARN",
            **LAPTOP.spark_settings,
            **spark_settings,
        }
        super().__init__(
            f"Spark driver ({application})",
            [
                *(str(cluster.home / "bin" / "spark-submit"), "--master", cluster.url),
                *("--driver-memory", "1g"),
                *(f"--conf={name}={value}" for name, value in configuration.items()),
                f"s3://{CODE}/{SCRIPT}",
                *_argv(settings, application),
            ],
            log_path=self._folder / "driver.log",
            env={
                **cluster.env,
                "HOME": str(self._folder),
                "TMPDIR": str(self._folder / "tmp"),
                "PYTHONPATH": f"./{_PLACE}",
                "PYSPARK_PYTHON": python,
                "PYSPARK_DRIVER_PYTHON": python,
            },
            cwd=self._folder,
        )

    def _prepare(self) -> None:
        """An engine unpacks archives in a driver's working folder; Spark's client mode does not."""
        shutil.rmtree(self._folder / "tmp", ignore_errors=True)
        (self._folder / "tmp").mkdir()
        if (self._folder / _PLACE).exists():
            return
        unpacked(self._environment, self._folder / _PLACE)


def _argv(settings: JobSettings, application: Application) -> list[str]:
    """A laptop's, but that checkpoints are in S3."""
    argv = host_argv(settings, application)
    argv[argv.index("--checkpoint_folder") + 1] = f"s3://{CHECKPOINTS}"
    return argv
