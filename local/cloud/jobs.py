"""The Spark jobs from what the deploy uploaded: nothing of the checkout's is on their path."""

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from local.cloud.deployed_stage import DeployedStage
from local.servers.processes import ServerProcess
from local.spark.jobs import JobSettings, host_argv, job_environment, spark_submit

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCode:
    """The script, the archive of our own code, and the folder with the packages that it needs."""

    script: Path
    archive: Path
    packages: Path


def fetched_job_code(s3: "S3Client", stage: DeployedStage, folder: Path) -> JobCode:
    """Fetch the code from where the deploy put it; the packages are unpacked."""
    folder.mkdir(parents=True, exist_ok=True)
    packages = folder / "packages"
    with zipfile.ZipFile(_fetched(s3, stage.job_packages_url, folder / "packages.zip")) as archive:
        archive.extractall(packages)
    return JobCode(
        script=_fetched(s3, stage.job_script_url, folder / "host.py"),
        archive=_fetched(s3, stage.job_archive_url, folder / "fleetlane-jobs.zip"),
        packages=packages,
    )


class DeployedJobs:
    """All jobs in one application, by ``spark-submit`` of the code that was uploaded."""

    def __init__(self, settings: JobSettings, code: JobCode) -> None:
        submit = [*spark_submit(settings.folder), "--py-files", str(code.archive)]
        self.process = ServerProcess(
            "Spark jobs",
            [*submit, str(code.script), *host_argv(settings)],
            log_path=settings.folder / "spark.log",
            env={**job_environment(settings), "PYTHONPATH": str(code.packages)},
            cwd=settings.folder,
        )

    def start(self) -> None:
        """Start the application; does not wait: Kafka keeps what arrives before it reads."""
        self.process.start()

    def kill(self) -> None:
        """Kill -9 of driver, JVM and workers together."""
        self.process.kill()


def _fetched(s3: "S3Client", url: str, path: Path) -> Path:
    place = urlsplit(url)
    s3.download_file(place.netloc, place.path.lstrip("/"), str(path))
    return path
