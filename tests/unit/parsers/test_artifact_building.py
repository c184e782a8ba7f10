"""Artifacts of projects, built by the real uv, which needs no network for it here."""

import hashlib
import subprocess
import sys
import zipfile
from base64 import urlsafe_b64encode
from pathlib import Path

import pytest

from fleetlane.cli.options.checkout import uv_program
from fleetlane.parsers.artifacts.building import Built, CannotBuildError, Platform, built, uv_for
from tests.unit.parsers.projects import write_project


def build(folder: Path, platform: Platform = Platform.X86_64) -> Built:
    return built(uv_for(folder, uv_program()), platform)


def add_wheel(folder: Path, name: str, *, tag: str = "py3-none-any") -> None:
    """A wheel with one module, which the project may depend on."""
    note, is_pure = f"{name}-3.0.dist-info", tag.endswith("any")
    purelib = "true" if is_pure else "false"
    files = {
        f"{name}.py": f"# for {tag}\n",
        f"{note}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 3.0\n",
        f"{note}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: {purelib}\nTag: {tag}\n",
    }
    rows = [f"{path},sha256={_digest(text)},{len(text)}\n" for path, text in files.items()]
    with zipfile.ZipFile(folder / "wheels" / f"{name}-3.0-{tag}.whl", "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
        wheel.writestr(f"{note}/RECORD", "".join(rows))


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return urlsafe_b64encode(digest).rstrip(b"=").decode()


def lock(folder: Path) -> Path:
    uv = uv_program() or Path("uv")
    command = [str(uv), "lock", "--quiet", "--python", sys.executable]
    subprocess.run(command, cwd=folder, check=True)
    return folder


def test_a_package_without_dependencies_is_an_artifact_for_any_platform(tmp_path: Path) -> None:
    found = build(write_project(tmp_path / "tank"))

    assert (found.package.parsers, found.package.platform) == ({"tank": "tank:Tank"}, "any")
    assert sorted(found.contents) == [
        "tank-1.0.dist-info/METADATA",
        "tank-1.0.dist-info/entry_points.txt",
        "tank/__init__.py",
    ]


def test_the_same_project_elsewhere_gives_the_same_contents(tmp_path: Path) -> None:
    found = [build(write_project(tmp_path / name)) for name in ("one", "other")]

    assert found[0] == found[1]


def test_fleetlanes_own_packages_need_no_lock_and_are_left_out(tmp_path: Path) -> None:
    project = write_project(tmp_path / "tank", dependencies='["fleetlane-parsers", "orjson"]')

    found = build(project)

    assert not any(name.startswith(("fleetlane", "orjson")) for name in found.contents)


def test_what_the_lock_names_comes_along(tmp_path: Path) -> None:
    project = write_project(tmp_path / "tank", dependencies='["sums"]')
    add_wheel(project, "sums")

    found = build(lock(project))

    assert "sums.py" in found.contents


@pytest.mark.parametrize("platform", [Platform.X86_64, Platform.ARM64])
def test_what_is_compiled_is_taken_for_the_platform(tmp_path: Path, platform: Platform) -> None:
    project = write_project(tmp_path / "tank", dependencies='["sums"]')
    for each in (Platform.X86_64, Platform.ARM64):
        machine, _, libc = each.value.partition("-")
        add_wheel(project, "sums", tag=f"cp313-cp313-{libc}_{machine}")

    found = build(lock(project), platform)

    machine = platform.value.partition("-")[0]
    assert (
        found.contents["sums.py"].decode().strip()[-len(machine) :],
        found.package.platform,
    ) == (machine, platform.value)


def test_dependencies_without_a_lock_are_refused(tmp_path: Path) -> None:
    project = write_project(tmp_path / "tank", dependencies='["sums"]')

    with pytest.raises(CannotBuildError) as refusal:
        build(project)

    said = "tank cannot be built: it has dependencies and no uv.lock: run `uv lock`"
    assert str(refusal.value) == said


def test_a_package_without_a_parser_is_refused(tmp_path: Path) -> None:
    project = write_project(tmp_path / "tank", group="other.things")

    with pytest.raises(CannotBuildError, match="it offers no parser: name one under"):
        build(project)


def test_uvs_own_words_say_why_a_build_fails(tmp_path: Path) -> None:
    project = write_project(tmp_path / "tank")
    (project / "tank" / "__init__.py").unlink()

    with pytest.raises(CannotBuildError, match="Expected a Python module"):
        build(project)
