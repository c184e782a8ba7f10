"""A laptop's Spark jobs in two applications, started by the same spark-submit as on EMR."""

import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Final

from fleetlane.events.job_arguments import HostArguments, LakeTables
from fleetlane.events.lanes import Lane, LaneTrigger
from fleetlane.events.stage_resources import StageResources
from fleetlane.parsers.sandbox.settings import MALLOC_LIMITS
from local.checkout import LAPTOP_JARS, ROOT, SPARK_JARS
from local.servers.java import LAPTOP, SparkJvm
from local.servers.processes import ServerProcess
from local.spark.home import shared_classes, shared_spark_home, spark_home
from local.spark.worker_daemon import WITHOUT_THREADS
from operations.endpoints import FLOWS_MAX_AGE_S, LAKE_CATALOG

PROPERTIES: Final = Path(__file__).with_name("spark.properties")
_SCRATCH: Final = "scratch"
_BUSY_MS: Final = 30_000
"""How long one query's commit waits for another's."""

TASK_SLOTS: Final = 20
"""More than cores: lanes whose tasks are slow must not take the slots of the others. Attackers who
keep the slow and the bulk lane busy hold ten of them, and a fast lane in real time one a partition,
if each of the fifteen other queries has one besides."""

WORKER_DAEMON: Final = "local.spark.worker_daemon"
WORKER_DAEMON_OPTION: Final = f"--conf=spark.python.daemon.module={WORKER_DAEMON}"

CODE_SCRIPT, CODE_ARCHIVE, CODE_PACKAGES = "host.py", "fleetlane-jobs.zip", "packages"
"""What a deploy uploads, in a folder: the script, our own code, and the packages that it needs."""

SLOW_PARSE_MS_MAX: Final = 1_200

REAL_TIME_BATCH_MS: Final = 10_000
"""A sixth of a stage's: the lake and its ledger wait for offsets, which a batch's end commits."""

LAKE_RECORDS_PER_BATCH_MAX: Final = 40_000
"""What the heap bears: at 200,000, batches of a backlog spent their time in collections of it."""

LAKE_JOBS: Final = (
    f"lake --tables {LakeTables.EVENTS}; lake --tables {LakeTables.FLEET};"
    f" lake --tables {LakeTables.ARCHIVE} --lake_trigger_ms 15000;"
    " standing_ledger --ledger_interval_s 30"
)


LAKE_NICENESS: Final = 5
"""A third of what a busy part of another has. The lake took half of a laptop's cores before it had
an application of its own, which it has in AWS as well."""


class Application(StrEnum):
    """What shares a JVM. In AWS each of the four lanes has one of its own."""

    LANES = "lanes"
    LAKE = "lake"


type ApplicationJobs = Mapping[Application, str]
"""As ``glue_jobs/host.py`` takes them."""


def jobs_of(
    *,
    fast_trigger: LaneTrigger = LaneTrigger.MICRO_BATCHES,
    slow_parse_ms_max: int = SLOW_PARSE_MS_MAX,
    has_lake: bool = True,
) -> ApplicationJobs:
    """What a laptop runs. The slow lane allows a message so long."""
    jobs = (
        f"parse_lane --lane {Lane.FAST} --trigger {fast_trigger}"
        f" --real_time_batch_ms {REAL_TIME_BATCH_MS}",
        f"parse_lane --lane {Lane.STANDARD} --trigger_ms 500",
        f"parse_lane --lane {Lane.BULK} --trigger_ms 1000",
        f"parse_lane --lane {Lane.SLOW} --trigger_ms 1000 --parse_ms_max {slow_parse_ms_max}",
        "fleet_metadata",
        "fleet_watch",
        "deduplicate --dedupe_trigger_ms 1000 --dedupe_state_partitions 1",
    )
    lanes = {Application.LANES: "; ".join(jobs)}
    return {**lanes, Application.LAKE: LAKE_JOBS} if has_lake else lanes


@dataclass(frozen=True, slots=True)
class LocalLake:
    """A lake's folder: its tables, and their SQLite catalog. Readable while nothing runs."""

    folder: Path

    @property
    def warehouse(self) -> str:
        return self.folder.as_uri()

    @property
    def catalog_path(self) -> Path:
        return self.folder / LAKE_CATALOG.name

    @property
    def jdbc_uri(self) -> str:
        """The catalog, as Iceberg for Java opens it."""
        return f"jdbc:sqlite:{self.catalog_path}?busy_timeout={_BUSY_MS}"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSettings:
    """Where the jobs read and write, and what they may import.

    ``environment`` is what their processes see, AWS's own variables included. ``accepted_log`` is
    where the functions write what they accepted, if they write that anywhere.
    """

    folder: Path
    resources: StageResources
    lake: LocalLake
    environment: Mapping[str, str]
    spool_bucket: str | None = None
    accepted_log: Path | None = None
    jobs: ApplicationJobs = field(default_factory=jobs_of)


class LocalJobs(ServerProcess):
    """An application with jobs; started again, it goes on from its checkpoints.

    ``start`` does not wait: Kafka keeps what arrives before it reads. ``kill`` ends driver, JVM and
    workers together.
    """

    def __init__(
        self, settings: JobSettings, application: Application, code: Path | None = None
    ) -> None:
        """Run the checkout's own code, or only what a deploy uploaded, in the folder ``code``."""
        folder = settings.folder / application
        environment = job_environment(settings, folder)
        if code is None:
            submit = [WORKER_DAEMON_OPTION, str(ROOT / "glue_jobs" / "host.py")]
            environment |= WITHOUT_THREADS
        else:
            submit = ["--py-files", str(code / CODE_ARCHIVE), str(code / CODE_SCRIPT)]
            environment |= {"PYTHONPATH": str(code / CODE_PACKAGES)}
        super().__init__(
            f"Spark jobs ({application})",
            [*spark_submit(folder), *submit, *host_argv(settings, application)],
            log_path=folder / "spark.log",
            env=environment,
            cwd=ROOT if code is None else folder,
        )
        self.niceness = LAKE_NICENESS if application is Application.LAKE else 0

    def _prepare(self) -> None:
        """Remove what a killed JVM left: hundreds of MiB where there was a backlog."""
        shutil.rmtree(self.log_path.parent / _SCRATCH, ignore_errors=True)


def spark_submit(
    folder: Path, *, task_slots: int = TASK_SLOTS, jvm: SparkJvm = LAPTOP
) -> list[str]:
    """The command up to the script; ``folder`` takes what Spark leaves behind."""
    java_options = [f"-Dderby.system.home={folder}", *jvm.java_options]
    if jvm.java_options:
        java_options += shared_classes()
    configuration = {
        "spark.local.dir": str(folder / _SCRATCH),
        "spark.driver.extraJavaOptions": " ".join(java_options),
        **jvm.spark_settings,
    }
    return [
        str(spark_home() / "bin" / "spark-submit"),
        *("--master", f"local[{task_slots},4]"),  # four tries of a task, as on a cluster
        *("--driver-memory", "2g"),
        *("--jars", ",".join(map(str, spark_jars()))),
        *("--properties-file", str(PROPERTIES)),
        *(f"--conf={name}={value}" for name, value in configuration.items()),
    ]


def spark_jars() -> list[Path]:
    """What the jobs bring, and the lake's catalog for a laptop."""
    return sorted([*SPARK_JARS.glob("*.jar"), *LAPTOP_JARS.glob("*.jar")])


def host_argv(settings: JobSettings, application: Application) -> list[str]:
    host = HostArguments(application=f"fleetlane-{application}", jobs=settings.jobs[application])
    resources = settings.resources
    shared = {
        "kafka_bootstrap_servers": resources.kafka_bootstrap_servers,
        "kafka_security": resources.kafka_security,
        "checkpoint_folder": (settings.folder / "checkpoints").as_uri(),
        "flows_bucket": resources.flows_bucket,
        "flows_max_age_s": FLOWS_MAX_AGE_S,
        "payload_bucket": resources.payload_bucket,
        "parked_bucket": resources.parked_bucket,
        "overrides_bucket": resources.overrides_bucket,
        "registry_table": resources.devices_table,
        "watch_sightings_per_batch_max": 20,
        "watch_trigger_ms": 2_000,
        "watch_window_s": 10,
        "watch_hold_s": 10,
        "lake_bucket": resources.lake_bucket,
        "lake_warehouse": settings.lake.warehouse,
        "lake_catalog_uri": settings.lake.jdbc_uri,
        "lake_trigger_ms": 10_000,
        "lake_records_per_batch_max": LAKE_RECORDS_PER_BATCH_MAX,
        "lake_lease_s": 15,  # so long it waits for jobs that were killed, and might still write
        "spool_bucket": settings.spool_bucket,
        "accepted_log": settings.accepted_log,
    }
    given = ((f"--{name}", str(value)) for name, value in shared.items() if value is not None)
    return [*host.to_argv(), *chain.from_iterable(given)]


def job_environment(settings: JobSettings, folder: Path) -> dict[str, str]:
    """What an application sees: the checkout on its path; parsers are fetched into its folder."""
    return {
        **settings.environment,
        "SPARK_HOME": str(shared_spark_home()),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT),
        "TMPDIR": str(folder),
        "PYTHONUNBUFFERED": "1",
        **MALLOC_LIMITS,
        "MALLOC_ARENA_MAX": "4",  # each keeps what was freed in it, as in Hadoop's own scripts
    }
