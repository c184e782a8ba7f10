"""How artifacts are built: for which machine, the same each time, and what stops it."""

import hashlib
from pathlib import Path

import pytest

from fleetlane.parsers.artifacts.building import Platform
from infra.artifacts.archive import (
    ArtifactTooLargeError,
    CannotBuildError,
    archive_bytes,
    install,
    merged,
    uv_of,
    wheel_contents,
)
from infra.artifacts.functions import FUNCTION_BYTES_MAX, with_bytecode, write_function
from infra.artifacts.jobs import write_jobs
from tests.infra.built_files import (
    ELF_ARM64,
    ELF_X86_64,
    ROOT,
    SITE_PACKAGES,
    elf_machines,
    run_alone,
)


def test_in_aws_functions_get_packages_for_arm64(tmp_path: Path) -> None:
    artifact = write_function(
        uv_of(ROOT),
        "authorizer",
        platform=Platform.ARM64,
        events={},
        scratch=tmp_path / "scratch",
        path=tmp_path / "authorizer.zip",
    )

    assert elf_machines(artifact) == {ELF_ARM64}


def test_in_aws_jobs_get_packages_for_x86(tmp_path: Path) -> None:
    *_, packages, _ = write_jobs(
        uv_of(ROOT), ours={}, platform=Platform.X86_64, scratch=tmp_path / "s", folder=tmp_path
    )

    assert elf_machines(packages) == {ELF_X86_64}


def test_a_group_that_is_missing_is_named(tmp_path: Path) -> None:
    uv = uv_of(ROOT)

    with pytest.raises(CannotBuildError, match=r"pyproject\.toml, group no-such-group: .*defined"):
        install(uv, "no-such-group", Platform.HOST, tmp_path)


def test_a_missing_uv_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(CannotBuildError, match="is missing; run `make environment`"):
        uv_of(tmp_path)


def test_two_packages_with_different_files_of_one_name_are_refused() -> None:
    with pytest.raises(CannotBuildError, match=r"six\.py: comes from two packages"):
        merged({"six.py": b"1"}, {"six.py": b"2"})


def test_an_archive_does_not_depend_on_the_order_of_its_files() -> None:
    forwards = archive_bytes({"a/x.py": b"1", "b.py": b"2"})

    backwards = archive_bytes({"b.py": b"2", "a/x.py": b"1"})

    assert forwards == backwards


def test_bytecode_does_not_depend_on_what_the_building_process_has_loaded() -> None:
    name = "clients/s3/payload_bucket.py"
    script = f"""
import hashlib, sys
sys.path[:0] = {[*map(str, (ROOT, ROOT / "events", ROOT / "parsers", SITE_PACKAGES))]!r}
from infra.artifacts.functions import with_bytecode
source = open({str(ROOT / name)!r}, "rb").read()
for data in with_bytecode({{{name!r}: source}}).values():
    print(hashlib.sha256(data).hexdigest())
"""

    elsewhere = run_alone(script)

    here = with_bytecode({name: (ROOT / name).read_bytes()}).values()
    digests = [hashlib.sha256(data).hexdigest() for data in here]
    assert elsewhere.stdout.split() == digests, elsewhere.stderr


def test_what_is_no_module_gets_no_bytecode() -> None:
    contents = {"template.py": b"{{ name }} = ;", "data.json": b"{}"}

    assert with_bytecode(contents) == contents


def test_what_an_installer_noted_is_left_out(tmp_path: Path) -> None:
    wheel = tmp_path / "thing.whl"
    files = {"thing.py": b"", "thing-1.dist-info/RECORD": b"", "thing-1.dist-info/LICENSE": b""}
    wheel.write_bytes(archive_bytes(files))

    contents = wheel_contents(wheel)

    assert set(contents) == {"thing.py", "thing-1.dist-info/LICENSE"}


def test_an_artifact_that_is_too_large_says_by_how_much() -> None:
    error = ArtifactTooLargeError("ingest.zip", 60_000_000, FUNCTION_BYTES_MAX)

    assert str(error).startswith("ingest.zip would hold 60000000 bytes; the limit is 50000000:")
