"""The Python environment of the jobs on EMR: unpacked, it runs with nothing else but PySpark."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from fleetlane.parsers.artifacts.building import Platform
from infra.artifacts.archive import AWS_SERVICES, uv_of
from infra.artifacts.folder import ENVIRONMENT, PYTHON, Artifacts
from infra.artifacts.jobs import own_python, write_environment
from local.checkout import ROOT
from local.spark.home import spark_home

IMPORT = """
import ctypes, lzma, mmap, ssl, sys
import boto3, msgspec, numpy, orjson, packaging, pandas, pyarrow
import pyspark
print(sys.prefix)
for module in (boto3, msgspec, numpy, orjson, packaging, pandas, pyarrow):
    print(module.__file__)
"""
SPARKS_OWN = ("pyspark", "py4j")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive for this machine, with the Python that runs this test."""
    folder = tmp_path_factory.mktemp("environment")
    return write_environment(
        uv_of(ROOT),
        platform=Platform.HOST,
        scratch=folder / "scratch",
        path=folder / "jobs" / ENVIRONMENT,
        python=Path(sys.base_prefix),
    )


def unpacked(archive: Path, folder: Path) -> Path:
    """As Hadoop unpacks it: with each file's mode."""
    with zipfile.ZipFile(archive) as files:
        for entry in files.infolist():
            Path(files.extract(entry, folder)).chmod(entry.external_attr >> 16)
    return folder


def test_its_python_runs_where_it_is_unpacked_and_finds_all_packages_of_the_jobs(
    environment: Path, tmp_path: Path
) -> None:
    folder = unpacked(environment, tmp_path / "environment")
    path = f"{folder}:{_sparks_own(tmp_path)}"

    done = subprocess.run(
        [str(folder / PYTHON), "-c", IMPORT],
        env={"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    prefix, *files = done.stdout.split()
    assert prefix == str(folder / "python")
    assert all(Path(file).is_relative_to(folder) for file in files)


def _sparks_own(tmp_path: Path) -> Path:
    """What an engine puts on the path: PySpark, without the packages beside it here."""
    place = tmp_path / "spark"
    place.mkdir()
    for name in SPARKS_OWN:
        (place / name).symlink_to(spark_home().parent / name)
    return place


def test_what_comes_with_spark_and_what_no_job_uses_is_left_out(environment: Path) -> None:
    with zipfile.ZipFile(environment) as archive:
        names = [Path(name) for name in archive.namelist()]

    places = [name.parts for name in names if name.parts[:3] == ("python", "lib", "python3.13")]
    library = {parts[3] for parts in places if parts[3:]}
    assert {name.parts[0] for name in names}.isdisjoint(SPARKS_OWN)
    assert {"os.py", "lib-dynload"} <= library
    assert library.isdisjoint({"test", "site-packages", "idlelib", "ensurepip"})


def test_its_boto3_knows_the_services_that_the_jobs_call(environment: Path) -> None:
    with zipfile.ZipFile(environment) as archive:
        names = [Path(name).parts for name in archive.namelist()]

    services = {parts[2] for parts in names if parts[:2] == ("botocore", "data") and parts[4:]}

    assert services == AWS_SERVICES


def test_whether_an_environment_has_a_python_is_read_from_it(
    environment: Path, tmp_path: Path
) -> None:
    without = tmp_path / "jobs" / ENVIRONMENT
    without.parent.mkdir()
    with zipfile.ZipFile(without, "w") as archive:
        archive.writestr("numpy/__init__.py", b"")

    assert Artifacts(folder=environment.parents[1]).has_python()
    assert not Artifacts(folder=tmp_path).has_python()


def test_a_python_is_ours_once_it_was_fetched(tmp_path: Path) -> None:
    before = own_python(tmp_path)
    fetched = tmp_path / "build" / "python" / "cpython-3.13.18-linux-x86_64-gnu"
    fetched.mkdir(parents=True)

    after = own_python(tmp_path)

    assert before is None
    assert after == fetched
