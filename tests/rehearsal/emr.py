"""A job run on EMR Serverless, by its rules. Beside each rule is where it is written.

All below docs.aws.amazon.com/emr/latest/EMR-Serverless-UserGuide/.

- ``SparkSubmitParameters`` are spark-submit's; it fetches ``EntryPoint``, jars, Python files and
  archives from S3 itself, as the job's role (jobs-spark.html).
- Jars of ``spark.jars`` are behind the image's own: Spark's own rule, where nothing is said of
  ``userClassPathFirst`` (spark.apache.org/docs/4.1.1/configuration.html).
- The image's own Iceberg is on no class path: ``spark.jars`` names one (using-iceberg.html).
- ``spark.archives`` are unpacked in the working folder, the driver's too: its Python is
  ``./environment/bin/python`` (using-python-libraries.html).
- ``spark.emr-serverless.driverEnv.NAME`` is a variable of the driver, ``spark.executorEnv.NAME``
  one of executors (jobs-spark.html#spark-defaults).
- ``emr-spark-8.1.0`` has a ``python3.13``; that it has any of our packages is not written.
- Driver and executors each take their heap and their overhead, a tenth unless the job says more,
  of what the application may have in all (app-behavior.html, jobs-spark.html#spark-defaults).
"""

import json
import shlex
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from local.servers.processes import ServerProcess
from tests.rehearsal.deployed_stage import DeployedStage
from tests.rehearsal.engine_image import EngineImage, SparkRun
from tests.rehearsal.engine_packages import EMR_PACKAGES
from tests.rehearsal.failures import NotStartedError

EXECUTORS_MAX: Final = 2
"""This machine's; an application may have more."""

_DRIVER_VARIABLE: Final = "spark.emr-serverless.driverEnv."
_EXECUTOR_VARIABLE: Final = "spark.executorEnv."
_DEFAULTS: Final = {
    "spark.driver.cores": "4",
    "spark.driver.memory": "14g",
    "spark.executor.cores": "4",
    "spark.executor.memory": "14g",
    "spark.executor.instances": "3",
}
_MEMORY_HERE: Final = ("spark.driver.memory", "spark.executor.memory")
_OVERHEAD_FACTOR: Final = 0.1
_OVERHEAD_MIB_MIN: Final = 384

type Settings = Mapping[str, str]


def _as_deployed(settings: Settings) -> Settings:
    return settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Emr:
    """Starts a stage's job runs on an image.

    ``change`` is made to their Spark settings first: how a defect is put back.
    """

    stage: DeployedStage
    image: EngineImage
    change: Callable[[Settings], Settings] = _as_deployed

    def applications(self) -> Mapping[str, Mapping[str, Any]]:
        """The parameters of each ``StartJobRun`` in the state machines, by the run's name."""
        machines = self.stage.templates.resources("AWS::StepFunctions::StateMachine")
        found = (run for one in machines for run in _runs(json.loads(one["DefinitionString"])))
        return {str(run["Name"]): run for run in found}

    def script_arguments(self, name: str) -> Mapping[str, str]:
        words = self.applications()[name]["JobDriver"]["SparkSubmit"]["EntryPointArguments"]
        return dict(zip(words[::2], words[1::2], strict=True))

    def started(self, name: str, folder: Path) -> ServerProcess:
        """Unpack and start; returns at once. ``folder`` is the driver's working folder.

        Raises:
            NotStartedError: The application may not have as much as the run asks for.
        """
        submit = self.applications()[name]["JobDriver"]["SparkSubmit"]
        settings = self.change(_settings(submit["SparkSubmitParameters"]))
        folder.mkdir(parents=True)
        asked = {**_DEFAULTS, **settings}
        self._check_size(name, asked)
        self.image.add_python(folder, EMR_PACKAGES, has_pip=False)
        for archive in filter(None, settings.get("spark.archives", "").split(",")):
            url, _, place = archive.partition("#")
            (folder / place).symlink_to(self._unpacked(url, folder))
        here = {key: value for key, value in settings.items() if key not in _MEMORY_HERE}
        run = SparkRun(
            name=f"EMR job run {name}",
            executors=min(EXECUTORS_MAX, int(asked["spark.executor.instances"])),
            cores=int(asked["spark.executor.cores"]),
            arguments=[
                *(f"--conf={key}={value}" for key, value in here.items()),
                *(submit["EntryPoint"], *submit["EntryPointArguments"]),
            ],
            driver_variables=dict(_variables(settings, _DRIVER_VARIABLE)),
            executor_variables=dict(_variables(settings, _EXECUTOR_VARIABLE)),
        )
        return self.image.submitted(run, folder)

    def _unpacked(self, url: str, folder: Path) -> Path:
        """Once for all drivers: an executor unpacks its own, as Spark has it do."""
        place = self.image.folder / "archives" / urlsplit(url).path.lstrip("/")
        if not place.exists():
            unpacked(self.stage.fetched(url, folder), place)
        return place

    def _check_size(self, name: str, settings: Settings) -> None:
        applications = self.stage.templates.resources("AWS::EMRServerless::Application")
        (most,) = (
            one["MaximumCapacity"] for one in applications if one["Name"].endswith(f"-{name}")
        )
        executors = int(
            settings["spark.dynamicAllocation.maxExecutors"]
            if settings.get("spark.dynamicAllocation.enabled") == "true"
            else settings["spark.executor.instances"]
        )
        cpus = int(settings["spark.driver.cores"])
        cpus += executors * int(settings["spark.executor.cores"])
        mib = _worker_mib(settings, "driver") + executors * _worker_mib(settings, "executor")
        cpus_max, mib_max = _number(most["Cpu"]), 1024 * _number(most["Memory"])
        if cpus > cpus_max or mib > mib_max:
            raise NotStartedError(
                f"application {name} may have {cpus_max} vCPUs and {mib_max} MiB; its run asks for"
                f" {cpus} and {mib}: workers would be missing"
            )


def _runs(state: Any) -> Iterator[Mapping[str, Any]]:
    """All that holds a job's driver, however deep the state machine has it."""
    if isinstance(state, list):
        for one in state:
            yield from _runs(one)
    if isinstance(state, dict):
        if "JobDriver" in state:
            yield state
        for one in state.values():
            yield from _runs(one)


def _settings(parameters: str) -> Settings:
    words = shlex.split(parameters)
    pairs = [word for word in words if word != "--conf"]
    return dict(pair.partition("=")[::2] for pair in pairs)


def _variables(settings: Settings, prefix: str) -> Iterator[tuple[str, str]]:
    for key, value in settings.items():
        if key.startswith(prefix):
            yield key.removeprefix(prefix), value


def _worker_mib(settings: Settings, of: str) -> int:
    heap = _mib(settings[f"spark.{of}.memory"])
    overhead = settings.get(f"spark.{of}.memoryOverhead")
    factor = float(settings.get(f"spark.{of}.memoryOverheadFactor", _OVERHEAD_FACTOR))
    least = max(_OVERHEAD_MIB_MIN, int(heap * factor))
    return heap + (least if overhead is None else _mib(overhead))


def _mib(text: str) -> int:
    number, unit = text.lower().rstrip("ib"), 1
    if number.endswith("g"):
        unit = 1024
    return int(number.rstrip("gm")) * unit


def _number(text: str) -> int:
    return int(text.split(maxsplit=1)[0])


def unpacked(archive: Path, place: Path) -> None:
    """As Spark does: modes are kept."""
    if archive.suffix != ".zip":
        with tarfile.open(archive) as tar:
            tar.extractall(place, filter="tar")
        return
    with zipfile.ZipFile(archive) as opened:
        for entry in opened.infolist():
            path = Path(opened.extract(entry, place))
            if mode := entry.external_attr >> 16 & 0o777:
                path.chmod(mode)
