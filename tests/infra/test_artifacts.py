"""What ``make artifacts`` builds, on its own: nothing but the archive and the standard library."""

import re
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import boto3
import pytest

from fleetlane.events.flows.artifacts import sha256_of_file
from fleetlane.parsers.artifacts.building import Platform
from infra.artifacts.archive import AWS_SERVICES, merged, run_uv, source_contents, uv_of
from infra.artifacts.build import WHEEL_BYTES_MAX, build
from infra.artifacts.functions import FUNCTION_BYTES_MAX, function_names
from infra.artifacts.jobs import ENGINES_BRING
from tests.infra.built_files import ROOT, run_alone

IMPORT = """
import importlib, sys
*paths, name = sys.argv[1:]
sys.path[:0] = paths
importlib.import_module(name)
"""

TELL_WHAT_IS_COMPILED = """
import importlib, sys
path, name = sys.argv[1:]
sys.path.insert(0, path)
sys.addaudithook(lambda event, facts: event == "compile" and print(facts[1]))
handler = importlib.import_module(name)
print(handler.__cached__)
"""

OPEN_AWS_CLIENTS = """
import sys
sys.path.insert(0, sys.argv[1])
from clients.aws import AwsSettings, dynamodb_table, s3_client
s3_client(AwsSettings(region_name="eu-central-1"))
dynamodb_table(AwsSettings(region_name="eu-central-1"), "devices")
"""

OPEN_CLIENTS_OF_A_DEPLOY = """
import sys
sys.path.insert(0, sys.argv[1])
from clients.aws import AwsSettings, aws_client
for service in ("cloudformation", "emr-serverless", "glue", "stepfunctions"):
    aws_client(service, AwsSettings(region_name="eu-central-1"))
"""

LOAD_JOBS = """
import sys
archive, packages, engine = sys.argv[1:]
sys.path[:0] = [archive, packages]
sys.path.append(engine)
import glue_jobs.host, glue_jobs.parse_lane.parse
from fleetlane.parsers.registry import load_parser
load_parser("json", {})
for module in list(sys.modules.values()):
    print(getattr(module, "__file__", None) or "")
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """Everything, for this machine, by paths inside the folder."""
    folder = tmp_path_factory.mktemp("artifacts")
    return by_name(folder)


def by_name(folder: Path) -> dict[str, Path]:
    return {
        artifact.relative_to(folder).as_posix(): artifact
        for artifact in build(ROOT, folder, Platform.HOST)
    }


def unpacked_bytes(artifact: Path) -> int:
    with zipfile.ZipFile(artifact) as archive:
        return sum(entry.file_size for entry in archive.infolist())


def unpacked(artifact: Path, folder: Path) -> Path:
    with zipfile.ZipFile(artifact) as archive:
        archive.extractall(folder)
    return folder


@pytest.mark.parametrize("name", function_names(ROOT))
def test_a_functions_zip_is_all_that_its_handler_imports(
    built: Mapping[str, Path], tmp_path: Path, name: str
) -> None:
    folder = unpacked(built[f"functions/{name}.zip"], tmp_path)

    done = run_alone(IMPORT, folder, f"lambdas.{name}.handler")

    assert done.returncode == 0, done.stderr


def test_a_cold_start_compiles_none_of_the_modules_in_a_functions_zip(
    built: Mapping[str, Path], tmp_path: Path
) -> None:
    folder = unpacked(built["functions/ingest.zip"], tmp_path)

    done = run_alone(TELL_WHAT_IS_COMPILED, folder, "lambdas.ingest.handler")

    files = [line for line in done.stdout.splitlines() if line.startswith(str(folder))]
    cached = f"handler.{sys.implementation.cache_tag}.pyc"
    assert files == [str(folder / "lambdas" / "ingest" / "__pycache__" / cached)]


@pytest.mark.parametrize(
    ("function", "code"), [("ingest", OPEN_AWS_CLIENTS), ("job_restarts", OPEN_CLIENTS_OF_A_DEPLOY)]
)
def test_a_function_can_open_its_clients_of_aws(
    built: Mapping[str, Path], tmp_path: Path, function: str, code: str
) -> None:
    folder = unpacked(built[f"functions/{function}.zip"], tmp_path)

    done = run_alone(code, folder)

    assert done.returncode == 0, done.stderr


def test_every_aws_service_that_our_code_calls_is_bundled() -> None:
    folders = ("clients", "lambdas", "glue_jobs")
    code = merged(*(source_contents(ROOT, folder) for folder in folders))

    called = {
        service.decode()
        for text in code.values()
        for service in re.findall(
            rb'(?:_client|boto3\.client|boto3\.resource)\(\s*"([\w-]+)"', text
        )
    }

    assert called
    assert called <= AWS_SERVICES


def test_the_jobs_run_with_their_archives_and_what_an_engine_brings(
    built: Mapping[str, Path], tmp_path: Path
) -> None:
    packages = unpacked(built["jobs/fleetlane-packages.zip"], tmp_path)
    engine = Path(boto3.__file__).parents[1]

    done = run_alone(LOAD_JOBS, built["jobs/fleetlane-jobs.zip"], packages, engine)

    assert done.returncode == 0, done.stderr
    brought = {
        Path(line).relative_to(engine).parts[0]
        for line in done.stdout.splitlines()
        if Path(line).is_relative_to(engine)
    }
    assert not brought & {"msgspec", "orjson", "packaging", "confluent_kafka", "fleetlane"}


def test_the_jobs_own_code_comes_from_their_archive(
    built: Mapping[str, Path], tmp_path: Path
) -> None:
    archive = built["jobs/fleetlane-jobs.zip"]
    packages = unpacked(built["jobs/fleetlane-packages.zip"], tmp_path)

    done = run_alone(LOAD_JOBS, archive, packages, Path(boto3.__file__).parents[1])

    assert f"{archive}/fleetlane/parsers/registry.py" in done.stdout.splitlines()


def test_glue_can_install_its_zip_of_wheels_without_a_network(
    built: Mapping[str, Path], tmp_path: Path
) -> None:
    wheels = unpacked(built["jobs/fleetlane-packages.gluewheels.zip"], tmp_path) / "wheels"
    target, engine = tmp_path / "installed", tmp_path / "engine-brings.txt"
    engine.write_text("\n".join(f"{name}; sys_platform == 'none'" for name in ENGINES_BRING))
    source = ["--offline", "--no-index", "--find-links", str(wheels), "--override", str(engine)]
    options = ["--target", str(target), *source, "-r", str(wheels / "requirements.txt")]

    run_uv(uv_of(ROOT), "pip", "install", *options, subject="wheels")

    done = run_alone(IMPORT, target, "msgspec")
    assert done.returncode == 0, done.stderr


def test_a_clean_build_gives_the_same_digests_again(
    built: Mapping[str, Path], tmp_path: Path
) -> None:
    again = by_name(tmp_path)

    assert {name: sha256_of_file(path) for name, path in again.items()} == {
        name: sha256_of_file(path) for name, path in built.items()
    }


def test_no_artifact_knows_where_it_was_built(built: Mapping[str, Path]) -> None:
    places = [str(ROOT).encode(), sys.prefix.encode(), str(Path.home()).encode() + b"/.cache/uv"]
    knowing = []

    for artifact in built.values():
        if zipfile.is_zipfile(artifact):
            with zipfile.ZipFile(artifact) as archive:
                for name in archive.namelist():
                    content = archive.read(name)
                    if any(place in content for place in places):
                        knowing.append(f"{artifact.name}: {name}")

    assert not knowing


def test_functions_and_wheels_are_within_their_limits(built: Mapping[str, Path]) -> None:
    functions = [built[f"functions/{name}.zip"] for name in function_names(ROOT)]
    wheels = [artifact for name, artifact in built.items() if name.endswith(".whl")]

    assert all(unpacked_bytes(function) < FUNCTION_BYTES_MAX for function in functions)
    assert all(wheel.stat().st_size < WHEEL_BYTES_MAX for wheel in wheels)


def test_nothing_but_artifacts_is_left_behind(built: Mapping[str, Path]) -> None:
    folder = built["jobs/host.py"].parents[1]

    left = {path for path in folder.rglob("*") if path.is_file()}

    assert left == set(built.values())
