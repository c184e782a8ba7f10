"""The machine that an engine starts a job on: its Spark, its Java and Python, its environment.

Both engines run Spark 4.1.1 on Java 17 with Hadoop 3.4.2's S3A for ``s3://``:
docs.aws.amazon.com/glue/latest/dg/migrating-version-60.html and
docs.aws.amazon.com/emr/latest/EMR-Serverless-UserGuide/release-version-emr-spark-810.html.
An executor is a process of its own here too, by Spark's ``local-cluster``, so that what reaches a
driver alone is missing where it would be missing there.

What this cannot be: their builds of Spark, Netty and the SDK, whose versions AWS does not publish.
Apache's are in their places.
"""

import importlib.metadata
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.running.spark_cluster import s3a_settings
from local.checkout import ROOT
from local.servers.java import LAPTOP, SHORT_LIVED
from local.servers.localstack import LocalAws
from local.servers.processes import ServerProcess
from local.spark.home import shared_classes, shared_spark_home
from tests.rehearsal.aws_twins import AwsTwins
from tests.rehearsal.iam_broker import HOST, TRUST_PASSWORD, Certificate

JARS = ROOT / "build" / "jars"
_OF_ENGINES = ("hadoop-aws-*.jar", "s3-transfer-manager-*.jar", "iceberg-aws-bundle-*.jar")
"""On their class paths wherever a job runs: S3A, and AWS's SDK (here in Iceberg's bundle)."""

_DEFAULTS = "spark-defaults.conf"
_MEMORY = {"spark.driver.memory": "1200m", "spark.executor.memory": "1200m"}
"""In place of a worker's 10 GB and more: this machine has two engines' jobs, broker and S3."""

EXECUTOR_MEMORY_MIB = 1_200
_JAVA = """#!/bin/bash
if [[ "$*" == *CoarseGrainedExecutorBackend* ]]; then
  spark=()
  while IFS= read -r name; do spark+=("$name=${{!name}}"); done < <(compgen -e | grep '^SPARK_')
  exec env -i "${{spark[@]}}" {executor} {java} "$@"
fi
exec {java} "$@"
"""
"""An executor's machine is another one: it has the image's variables and those given to executors.

Spark's ``local-cluster`` would let it inherit the driver's.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkRun:
    """What an engine makes of a job: executors, arguments of spark-submit, and variables.

    ``behind`` are jars of the class path, after the engine's own.
    """

    name: str
    executors: int
    cores: int
    arguments: Sequence[str]
    behind: Sequence[Path] = ()
    driver_variables: Mapping[str, str] = field(default_factory=dict)
    executor_variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineImage:
    """A folder with all that a job finds, and the variables that its processes see, no others.

    Plans are compiled as deployed, unless it ``interprets`` them: that is a third of a job's start.
    """

    folder: Path
    variables: Mapping[str, str]
    interprets: bool = False

    @classmethod
    def made(
        cls, folder: Path, *, aws: LocalAws, twins: AwsTwins, certificate: Certificate
    ) -> "EngineImage":
        folder.mkdir(parents=True)
        (folder / "home").mkdir()
        _keep_work_in(folder / "work")
        defaults = "".join(f"{name} {value}\n" for name, value in _defaults(aws).items())
        (folder / _DEFAULTS).write_text(defaults)
        hosts = folder / "hosts"
        names = f"localhost {socket.gethostname()} {HOST}"
        hosts.write_text(f"127.0.0.1 {names}\n")
        return cls(folder=folder, variables=_variables(folder, aws, twins, certificate, hosts))

    def submitted(self, run: SparkRun, folder: Path) -> ServerProcess:
        """Start a run in ``folder``, its driver's working folder; returns at once."""
        java_home, seen = folder / "java", self.variables_in(folder)
        _write_program(java_home / "bin" / "java", _java(seen, run.executor_variables))
        submit = f"{self.variables['SPARK_HOME']}/bin/spark-submit"
        options = ["--properties-file", str(self.folder / _DEFAULTS)]
        if self.interprets:
            options += [f"--conf={name}={value}" for name, value in LAPTOP.spark_settings.items()]
        master = f"local-cluster[{run.executors},{run.cores},{EXECUTOR_MEMORY_MIB}]"
        process = ServerProcess(
            run.name,
            [submit, "--master", master, *options, *run.arguments],
            log_path=folder / "job.log",
            env={
                **seen,
                **run.driver_variables,
                # Spark hands it to executors itself.
                "SPARK_DIST_CLASSPATH": ":".join(map(str, [*_engines_jars(), *run.behind])),
                "JAVA_HOME": str(java_home),
            },
            cwd=folder,
        )
        process.start()
        return process

    def variables_in(self, folder: Path) -> Mapping[str, str]:
        """What the processes of a run in ``folder`` see: its own Python comes first."""
        return {**self.variables, "PATH": f"{folder}/bin:{self.variables['PATH']}"}

    def add_python(self, folder: Path, packages: Iterable[str], *, has_pip: bool) -> Path:
        """Give a run in ``folder`` its ``python3``, with these packages and no others."""
        made, place = self.folder / f"python{'-pip' * has_pip}", folder / "python"
        if not made.exists():
            base = Path(sys.base_prefix) / "bin" / "python3"
            options = [] if has_pip else ["--without-pip"]
            subprocess.run([base, "-m", "venv", *options, made], check=True, timeout=300)
            (site,) = made.glob("lib/python*/site-packages")
            for package in packages:
                _link_package(package, site)
        shutil.copytree(made, place, symlinks=True)
        for name in ("python", "python3", "python3.13"):
            # By a program: a link would not find the environment that it leads into.
            _write_program(folder / "bin" / name, f'#!/bin/sh\nexec {place}/bin/python3 "$@"\n')
        return place / "bin" / "python3"


def _java(seen: Mapping[str, str], executor_variables: Mapping[str, str]) -> str:
    given = {**seen, **executor_variables}
    quoted = shlex.join(f"{name}={value}" for name, value in given.items())
    return _JAVA.format(java=shutil.which("java"), executor=quoted)


def _defaults(aws: LocalAws) -> dict[str, str]:
    return {
        **_MEMORY,
        **s3a_settings(aws),
        "spark.hadoop.fs.s3a.aws.credentials.provider": (
            "software.amazon.awssdk.auth.credentials.ContainerCredentialsProvider"
        ),
    }


def _variables(
    folder: Path, aws: LocalAws, twins: AwsTwins, certificate: Certificate, hosts: Path
) -> dict[str, str]:
    """No region: whatever needs one has it among its arguments.

    Glue gives the JVM a trust store of its own by such options, so they are no stranger to it.
    """
    options = (
        *SHORT_LIVED,
        *shared_classes(),
        f"-Djavax.net.ssl.trustStore={certificate.trust_store}",
        f"-Djavax.net.ssl.trustStorePassword={TRUST_PASSWORD}",
        f"-Djdk.net.hosts.file={hosts}",
    )
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder / "home"),
        "LANG": "C.UTF-8",
        "SPARK_HOME": str(shared_spark_home()),
        # From here on: this machine in place of AWS.
        "SPARK_LOCAL_IP": "127.0.0.1",
        "JAVA_TOOL_OPTIONS": " ".join(options),
        "AWS_CONTAINER_CREDENTIALS_FULL_URI": twins.credentials_url,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL_S3": aws.endpoint_url,
        "AWS_ENDPOINT_URL_DYNAMODB": aws.endpoint_url,
        "AWS_ENDPOINT_URL_GLUE": twins.url,
        "AWS_ENDPOINT_URL_CLOUDWATCH": twins.url,
        "PIP_INDEX_URL": twins.index_url,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PYTHONUNBUFFERED": "1",
    }


def _write_program(place: Path, text: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    place.chmod(0o755)


def _keep_work_in(folder: Path) -> None:
    """Where the executors' folders are: ``local-cluster`` has them in Spark's own home."""
    folder.mkdir()
    link = shared_spark_home() / "work"
    link.unlink(missing_ok=True)
    link.symlink_to(folder)


def _engines_jars() -> Iterator[Path]:
    """Behind Spark's own, by its own scripts: the classes in front are archived as they are."""
    for pattern in _OF_ENGINES:
        found = sorted(JARS.glob(f"*/{pattern}"))
        assert found, f"no {pattern} below {JARS}: the set-up fetches it"
        yield found[-1]


def _link_package(package: str, site: Path) -> None:
    distribution = importlib.metadata.distribution(package)
    tops = {file.parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}
    for top in tops:
        if not (site / top).exists():
            (site / top).symlink_to(Path(str(distribution.locate_file(top))))
