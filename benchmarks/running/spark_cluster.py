"""A standalone Spark cluster: a master, and workers that share nothing but S3 and Kafka."""

import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from local.checkout import ROOT
from local.servers.java import SHORT_LIVED
from local.servers.localstack import LocalAws
from local.servers.ports import remembered_port
from local.servers.processes import ServerProcess
from local.spark.home import spark_home
from operations.endpoints import REGION, variables_for

WORKERS: Final = 3
_CORES: Final = 12
"""Of each worker, as Spark counts them: slots, of which a task waits in most of its time."""

_JARS: Final = ROOT / "build" / "jars"
_HADOOP: Final = (
    "rehearsal/hadoop-aws-*.jar",
    "rehearsal/s3-transfer-manager-*.jar",
    "rehearsal/iceberg-aws-bundle-*.jar",
)
"""S3A of Spark's own Hadoop, with an SDK (here in Iceberg's bundle): Spark's jars have neither."""


class SparkNode(ServerProcess):
    """A master or a worker, with an environment, a home and a temporary folder of its own."""

    def __init__(
        self, name: str, folder: Path, command: Sequence[str], *, env: Mapping[str, str]
    ) -> None:
        self._scratch = folder / "tmp"
        super().__init__(
            name,
            command,
            log_path=folder / "node.log",
            env={**env, "HOME": str(folder), "TMPDIR": str(self._scratch)},
            cwd=folder,
        )

    def _prepare(self) -> None:
        """Executors of one that was killed may still write there."""
        shutil.rmtree(self._scratch, ignore_errors=True)
        self._scratch.mkdir(parents=True, exist_ok=True)


class SparkCluster:
    """Its nodes, once S3 answers. ``url`` is the master's, for ``spark-submit``."""

    def __init__(
        self, folder: Path, *, aws: LocalAws, java_options: Sequence[str] = SHORT_LIVED
    ) -> None:
        folder.mkdir(parents=True)
        self._folder, self.home = folder, folder / "spark"
        options = {"JAVA_TOOL_OPTIONS": " ".join(java_options)}
        self.env = {**_variables(aws), **options, "SPARK_HOME": str(self.home)}
        _lay_out(self.home, aws)
        port = remembered_port(folder / "port.json")
        self.url = f"spark://127.0.0.1:{port}"
        kept = {
            "spark.deploy.recoveryMode": "FILESYSTEM",
            "spark.deploy.recoveryDirectory": f"{folder}/recovery",
        }
        properties = " ".join(f"-D{name}={value}" for name, value in kept.items())
        here = ("--host", "127.0.0.1", "--webui-port", "0")
        listen = [*here, "--port", str(port)]
        self.master = self._node("master", "master.Master", listen, SPARK_MASTER_OPTS=properties)
        self.workers = [
            self._node(name, "worker.Worker", [*here, *_has(folder / name / "work"), self.url])
            for name in (f"worker-{number}" for number in range(1, WORKERS + 1))
        ]

    @property
    def nodes(self) -> Iterable[ServerProcess]:
        return (self.master, *self.workers)

    def _node(
        self, name: str, of_class: str, options: Sequence[str], **variables: str
    ) -> SparkNode:
        command = [
            str(self.home / "bin" / "spark-class"),
            f"org.apache.spark.deploy.{of_class}",
            *options,
        ]
        place = self._folder / name
        place.mkdir(parents=True)
        return SparkNode(f"Spark, {name}", place, command, env={**self.env, **variables})


def _has(work: Path) -> tuple[str, ...]:
    return ("--cores", str(_CORES), "--memory", "4g", "--work-dir", str(work))


def _variables(aws: LocalAws) -> dict[str, str]:
    """All that its processes see: nothing of ours, but how AWS is reached."""
    java = shutil.which("java")
    assert java is not None, "the platform's own set-up needs it"
    return {
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "JAVA_HOME": str(Path(java).resolve().parents[1]),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "PYTHONUNBUFFERED": "1",
        **variables_for(aws.client_settings),
    }


def _lay_out(home: Path, aws: LocalAws) -> None:
    """Spark's home with S3A in it, and its settings."""
    (home / "jars").mkdir(parents=True)
    (home / "conf").mkdir()
    for name in ("bin", "sbin", "python"):
        if (spark_home() / name).exists():
            (home / name).symlink_to(spark_home() / name)
    jars = [*spark_home().glob("jars/*.jar"), *(jar for one in _HADOOP for jar in _JARS.glob(one))]
    for jar in jars:
        (home / "jars" / jar.name).symlink_to(jar)
    lines = "".join(f"{name} {value}\n" for name, value in s3a_settings(aws).items())
    (home / "conf" / "spark-defaults.conf").write_text(lines)


def s3a_settings(aws: LocalAws) -> dict[str, str]:
    """Spark's, so that ``s3://`` is read by S3A, from this machine in place of AWS."""
    return {
        "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
        "spark.hadoop.fs.AbstractFileSystem.s3.impl": "org.apache.hadoop.fs.s3a.S3A",
        "spark.hadoop.fs.s3a.endpoint.region": REGION,
        "spark.hadoop.fs.s3a.endpoint": aws.endpoint_url,
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
    }
