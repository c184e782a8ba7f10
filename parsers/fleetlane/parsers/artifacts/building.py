"""Building an artifact with uv: a project's wheel and its locked dependencies."""

import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path, PurePosixPath
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.flows.artifacts import ANY_PLATFORM
from fleetlane.events.names import NAME_PATTERN, is_name
from fleetlane.parsers.artifacts.writing import PYTHON, Contents, Package, write_artifact
from fleetlane.parsers.registry import ENTRY_POINT_GROUP

OURS: Final = ("fleetlane-parsers", "fleetlane-events", "fleetlane")

_INSTALLERS_NOTES: Final = ("INSTALLER", "RECORD", "REQUESTED", "direct_url.json", "uv_cache.json")


class CannotBuildError(FleetlaneError):
    """A project could not be built. ``problem`` says why, and what to do."""

    project: str
    problem: str
    sentence = "{project} cannot be built: {problem}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Uv:
    """Runs uv for the project in a folder, with the Python that runs this."""

    program: Path
    project: Path

    def run(self, *arguments: str, given: str = "") -> str:
        """Run uv with ``given`` as its input, and give its output; raises ``CannotBuildError``."""
        done = subprocess.run(  # noqa: S603 - uv, with arguments of our own
            [str(self.program), "--quiet", *arguments, "--python", sys.executable],
            cwd=self.project,
            input=given,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            said = " ".join(done.stderr.split()).removeprefix("error: ").rstrip(".")
            raise CannotBuildError(self.project.name, said or f"uv exit code {done.returncode}")
        return done.stdout


def uv_for(project: Path, program: Path | None = None) -> Uv:
    """Take this uv, or the one on ``PATH``; raises ``CannotBuildError`` where there is none."""
    found = program or shutil.which("uv")
    if found is None:
        problem = "uv is not on the PATH: install it (docs.astral.sh/uv)"
        raise CannotBuildError(project.name, problem)
    return Uv(program=Path(found), project=project.absolute())


class Platform(StrEnum):
    """For what machines compiled packages are taken. Glue is x86; EMR may be either."""

    X86_64 = "x86_64-manylinux_2_28"
    ARM64 = "aarch64-manylinux_2_28"
    HOST = "host"


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A project as it would be in an artifact. ``left_out`` are packages that the jobs bring."""

    package: Package
    contents: Contents
    left_out: Sequence[str]


def built(uv: Uv, platform: Platform) -> Built:
    """Build a project: its wheel, and what uv.lock lists for it, but for Fleetlane's own.

    The same files and lock give the same contents. Needs the network for what uv's cache lacks.

    Raises ``CannotBuildError`` where it does not build, offers no parser, or needs a uv.lock.
    """
    with tempfile.TemporaryDirectory(prefix="fleetlane-build-") as name:
        wheels, site = Path(name) / "wheel", Path(name) / "site"
        uv.run("build", "--wheel", "--out-dir", str(wheels), "--no-create-gitignore", ".")
        [wheel] = wheels.glob("*.whl")
        uv.run("pip", "install", *install_options(site, platform), "--no-deps", str(wheel))
        project, *_ = parse_wheel_filename(wheel.name)
        [itself] = Distribution.discover(name=project, path=[str(site)])
        left_out = _install_locked(uv, itself, site, platform)
        built_for = sysconfig.get_platform() if platform is Platform.HOST else platform.value
        package = Package(
            name=itself.name,
            version=itself.version,
            parsers=_parsers_of(itself, uv),
            platform=built_for if _is_compiled(site) else ANY_PLATFORM,
        )
        return Built(package=package, contents=dict(_contents(site)), left_out=left_out)


def write_built(uv: Uv, platform: Platform, folder: Path) -> Path:
    result = built(uv, platform)
    return write_artifact(folder, result.package, result.contents)


def install_options(site: Path, platform: Platform) -> list[str]:
    """What ``uv pip install`` is to take for a platform, and where to put it."""
    kind = [] if platform is Platform.HOST else ["--python-platform", platform.value]
    return ["--target", str(site), "--python-version", PYTHON, *kind, "--only-binary", ":all:"]


def _needed_by(package: Distribution) -> set[str]:
    """The names of all that a package needs here, without its extras."""
    return {
        canonicalize_name(one.name)
        for one in map(Requirement, package.requires or ())
        if one.marker is None or one.marker.evaluate({"extra": ""})
    }


def _brought_by_jobs() -> set[str]:
    """Fleetlane's own packages and all that they need: a child has imported them before."""
    found, waiting = set[str](), set[str](OURS[:2])
    while waiting:
        name = waiting.pop()
        found.add(name)
        with suppress(PackageNotFoundError):  # an optional one, for another system
            waiting |= _needed_by(distribution(name)) - found
    return found | {*OURS}


def _install_locked(uv: Uv, project: Distribution, site: Path, platform: Platform) -> list[str]:
    """Install what a project needs of its lock, and name what is left out of that."""
    brought = _brought_by_jobs()
    if _needed_by(project) <= brought:
        return []
    if not any((one / "uv.lock").is_file() for one in (uv.project, *uv.project.parents)):
        raise CannotBuildError(uv.project.name, "it has dependencies and no uv.lock: run `uv lock`")
    pruned = [f"--prune={one}" for one in OURS]
    plain = ("--no-header", "--no-annotate", "--no-dev", "--no-editable", "--no-emit-project")
    export = ["export", "--locked", "--package", project.name, *plain, *pruned]
    locked = uv.run(*export)
    needed = uv.run(*export, *(f"--no-emit-package={one}" for one in sorted(brought)))
    if needed.strip():  # each with its hashes, which uv checks
        given = ("--no-deps", "--requirements", "-")
        uv.run("pip", "install", *install_options(site, platform), *given, given=needed)
    return sorted(_names_in(locked) - _names_in(needed))


def _names_in(requirements: str) -> set[str]:
    lines = (line for line in requirements.splitlines() if line[:1].isalnum())
    return {canonicalize_name(line.partition("==")[0]) for line in lines}


def _parsers_of(itself: Distribution, uv: Uv) -> dict[str, str]:
    parsers = {one.name: one.value for one in itself.entry_points.select(group=ENTRY_POINT_GROUP)}
    if not parsers:
        table = f'[project.entry-points."{ENTRY_POINT_GROUP}"]'
        raise CannotBuildError(uv.project.name, f"it offers no parser: name one under {table}")
    odd = next((name for name in parsers if not is_name(name)), None)
    if odd is not None:
        problem = f"its parser's name {odd!r} does not match {NAME_PATTERN}"
        raise CannotBuildError(uv.project.name, problem)
    return parsers


def _is_compiled(site: Path) -> bool:
    return any(
        "Root-Is-Purelib: false" in path.read_text(encoding="utf-8")
        for path in site.glob("*.dist-info/WHEEL")
    )


def _contents(site: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(site.rglob("*")):
        name = PurePosixPath(path.relative_to(site).as_posix())
        is_of_uv = name.match("*.dist-info/WHEEL")  # it names uv's version
        if path.is_file() and is_shipped(name) and not is_of_uv:
            yield str(name), path.read_bytes()


def is_shipped(name: PurePosixPath) -> bool:
    """Not scripts, stubs, bytecode, nor what an installer wrote: it differs between machines."""
    if name.parts[0] in ("bin", ".lock") or "__pycache__" in name.parts or name.suffix == ".pyi":
        return False
    return not (name.parent.suffix == ".dist-info" and name.name in _INSTALLERS_NOTES)
