"""A Glue job's run, by Glue's rules. Beside each rule is where it is written.

- Driver and executors are Java processes with one class path: Glue's settings, Glue's own jars
  (Spark's among them), those of ``--datalake-formats``, then ``--extra-jars``, which lie in the
  working folder. The command is in many a job's log, such as
  github.com/toryas/serverless-glue/issues/52: ``-cp /tmp:/opt/amazon/conf:
  /opt/amazon/glue-manifest.jar:…/selected/redshift/*:…/selected/datalake/*:
  …/selected/marketplace/*:/tmp/*``.
- ``--user-jars-first true`` "prioritizes the customer's extra JAR files in the classpath"
  (docs.aws.amazon.com/glue/latest/dg/aws-glue-programming-etl-glue-arguments.html): they come
  first. ``is_child_first`` is the other reading of it, Spark's own ``userClassPathFirst``.
- ``--datalake-formats iceberg`` adds Glue's Iceberg, 1.11.0 in Glue 6.0
  (…/aws-glue-programming-etl-format-iceberg.html, …/migrating-version-60.html).
- ``--extra-py-files``: on Python's path, pure Python alone (…/aws-glue-api-jobs-job.html).
- ``--additional-python-modules`` with a ``.gluewheels.zip``: pip installs what its
  ``wheels/requirements.txt`` names from ``wheels/``, with ``--python-modules-installer-option``
  added (…/aws-glue-programming-python-libraries.html).
- The script's arguments are all of the job's, Glue's own among them, one of which stands alone.
- G.1X: 4 vCPUs; one worker of ``NumberOfWorkers`` is the driver's (…/add-job.html).
- Of a subnet without a way out nothing is reached but AWS: names have no addresses here.
"""

import subprocess
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from local.servers.processes import ServerProcess
from tests.rehearsal.deployed_stage import DeployedStage
from tests.rehearsal.engine_image import JARS, EngineImage, SparkRun
from tests.rehearsal.engine_packages import GLUE_PACKAGES
from tests.rehearsal.failures import NotStartedError

CORES: Final = 4
GLUES_OWN: Final = (
    "--true",
    *("--job-bookmark-option", "job-bookmark-disable"),
    *("--JOB_ID", "j_0123456789abcdef"),
    *("--JOB_RUN_ID", "jr_0123456789abcdef"),
    *("--TempDir", "s3://aws-glue-assets/temporary/"),
    *("--encryption-type", "sse-kms"),
)
_GLUES_CLASSES: Final = (
    "org/apache/iceberg/spark/SparkCatalog.class",
    "software/amazon/awssdk/services/s3/S3Client.class",
)
"""Of what Glue has in versions of its own: a second one is found first, or by half of the rest."""

type Arguments = Mapping[str, str]


def _as_deployed(arguments: Arguments) -> Arguments:
    return arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class Glue:
    """Starts a stage's Glue jobs on an image.

    ``change`` is made to their arguments first: how a defect is put back.
    """

    stage: DeployedStage
    image: EngineImage
    change: Callable[[Arguments], Arguments] = _as_deployed
    is_child_first: bool = False

    def applications(self) -> Mapping[str, Mapping[str, Any]]:
        """Each job's properties, by the last word of its name."""
        jobs = self.stage.templates.resources("AWS::Glue::Job")
        return {str(job["Name"]).rpartition("-")[2]: job for job in jobs}

    def script_arguments(self, name: str) -> Arguments:
        given: Arguments = self.applications()[name]["DefaultArguments"]
        return given

    def started(self, name: str, folder: Path) -> ServerProcess:
        """Install and start; returns at once. ``folder`` is the driver's ``/tmp``.

        Raises:
            NotStartedError: The packages cannot be installed, or jars hold what Glue brings.
        """
        job = self.applications()[name]
        folder.mkdir(parents=True)
        arguments = self.change(job["DefaultArguments"])
        self._install(arguments, folder)
        script = self.stage.fetched(job["Command"]["ScriptLocation"], folder)
        sources = self._all_fetched(arguments, "--extra-py-files", folder)
        jars = self._all_fetched(arguments, "--extra-jars", folder)
        _check_jars(jars, arguments)
        settings = _first(jars, self.is_child_first) if _is_first(arguments) else {}
        words = [word for pair in arguments.items() for word in pair]
        run = SparkRun(
            name=f"Glue job {job['Name']}",
            executors=job["NumberOfWorkers"] - 1,
            cores=CORES,
            arguments=[
                *("--py-files", ",".join(map(str, sources))),
                *(f"--conf={name}={value}" for name, value in settings.items()),
                *(str(script), *GLUES_OWN, "--JOB_NAME", str(job["Name"]), *map(str, words)),
            ],
            behind=_behind(jars, arguments),
        )
        return self.image.submitted(run, folder)

    def _all_fetched(self, arguments: Arguments, name: str, folder: Path) -> list[Path]:
        return [self.stage.fetched(url, folder) for url in _listed(arguments.get(name))]

    def _install(self, arguments: Arguments, folder: Path) -> None:
        python = self.image.add_python(folder, GLUE_PACKAGES, has_pip=True)
        index = self.stage.ground.twins.asked_index
        for archive in self._all_fetched(arguments, "--additional-python-modules", folder):
            assert archive.name.endswith(".gluewheels.zip"), archive
            with zipfile.ZipFile(archive) as opened:
                opened.extractall(folder)
            wheels = folder / "wheels"
            options = arguments.get("--python-modules-installer-option", "").split()
            found = ("--find-links", wheels, "--requirement", wheels / "requirements.txt")
            index.clear()
            done = subprocess.run(
                [python, "-m", "pip", "install", *options, *found],
                env=dict(self.image.variables_in(folder)),
                capture_output=True,
                text=True,
                check=False,
                timeout=900,
            )
            (folder / "installer.log").write_text(done.stdout + done.stderr)
            if index:
                raise NotStartedError(_asked(index))
            if done.returncode:
                raise NotStartedError(done.stderr)


def _asked(index: Iterable[str]) -> str:
    return (
        f"pip asked an index for {', '.join(sorted(set(index)))}: in a subnet without a way out"
        " it waits for each of them until it gives up; give it --no-index"
    )


def _check_jars(jars: Iterable[Path], arguments: Arguments) -> None:
    twice = sorted(_held_twice(jars)) if "--datalake-formats" in arguments else []
    if twice:
        raise NotStartedError(
            f"{', '.join(twice)}: Glue brings the same by --datalake-formats, in a version of its"
            " own; take it from --extra-jars"
        )


def _held_twice(jars: Iterable[Path]) -> Iterator[str]:
    for jar in jars:
        with zipfile.ZipFile(jar) as opened:
            if not set(_GLUES_CLASSES).isdisjoint(opened.namelist()):
                yield jar.name


def _first(jars: Sequence[Path], is_child_first: bool) -> dict[str, str]:  # noqa: FBT001
    both = ("spark.driver", "spark.executor")
    if is_child_first:
        first = {f"{one}.userClassPathFirst": "true" for one in both}
        return {"spark.jars": ",".join(map(str, jars)), **first}
    return {f"{one}.extraClassPath": ":".join(map(str, jars)) for one in both}


def _behind(jars: Sequence[Path], arguments: Arguments) -> list[Path]:
    formats = _listed(arguments.get("--datalake-formats"))
    behind = list(JARS.glob("*/iceberg-spark-runtime-*.jar")) if "iceberg" in formats else []
    return [*behind, *([] if _is_first(arguments) else jars)]


def _is_first(arguments: Arguments) -> bool:
    return arguments.get("--user-jars-first") == "true"


def _listed(value: str | None) -> list[str]:
    return value.split(",") if value else []
