"""Archives whose bytes depend on what goes into them and zlib alone; the packages among that.

What is missing, or does not fit together, is a ``CannotBuildError``, here and wherever one builds.
"""

import io
import stat
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from fleetlane.events.errors import FleetlaneError
from fleetlane.parsers.artifacts.building import CannotBuildError as UvFailedError
from fleetlane.parsers.artifacts.building import Platform, Uv, install_options, is_shipped, uv_for
from fleetlane.parsers.artifacts.writing import Contents, zip_entry


class CannotBuildError(FleetlaneError):
    """An artifact could not be built. Those before it are whole; running again is safe."""

    subject: str
    problem: str
    remedy: str
    sentence = "{subject}: {problem}; {remedy}"


class ArtifactTooLargeError(FleetlaneError):
    """An artifact is over its limit; nothing of it was written."""

    subject: str
    size_bytes: int
    limit_bytes: int
    sentence = (
        "{subject} would hold {size_bytes} bytes; the limit is {limit_bytes}:"
        " take out what it does not import, or its package from its group in pyproject.toml"
    )


def write_archive(path: Path, contents: Contents) -> Path:
    """Write a zip in place of what is at ``path``, which is never there half-written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    partial.write_bytes(archive_bytes(contents))
    return partial.replace(path)


def archive_bytes(contents: Contents) -> bytes:
    """Zip the contents, in the order of their names.

    Folders get entries of their own: without them Python finds no namespace package in a zip.
    """
    parents = {parent for name in contents for parent in PurePosixPath(name).parents}
    folders = (f"{parent}/" for parent in parents if parent.name)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in sorted({*contents, *folders}):
            archive.writestr(_entry(name), contents.get(name, b""))
    return buffer.getvalue()


def merged(*parts: Contents) -> Contents:
    """Put contents together, that have no two files of one name."""
    whole: dict[str, bytes] = {}
    for part in parts:
        for name, data in part.items():
            if whole.setdefault(name, data) != data:
                raise CannotBuildError(name, "comes from two packages", "take one of them out")
    return whole


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zip_entry(name)
    entry.compress_type = zipfile.ZIP_DEFLATED
    if entry.is_dir():
        entry.external_attr = (stat.S_IFDIR | 0o755) << 16
    elif PurePosixPath(name).parent.name == "bin":
        entry.external_attr = (stat.S_IFREG | 0o755) << 16
    return entry


AWS_SERVICES: Final = frozenset({
    "cloudformation", "cloudwatch", "dynamodb", "emr-serverless", "glue", "s3", "ssm",
    "stepfunctions", "sts",
})  # fmt: skip
"""The services that our code calls, and the one that issues credentials. boto3 knows 400 more."""


def source_contents(root: Path, folder: str) -> Contents:
    """All files of one of our folders, by their paths from ``root``."""
    found = files_in(root / folder)
    contents = {f"{folder}/{name}": path.read_bytes() for name, path in found}
    if not contents:
        raise CannotBuildError(folder, "holds no files", "run this from a whole checkout")
    return contents


def wheel_contents(wheel: Path) -> Contents:
    """All that a wheel of pure Python puts on the path, entry points included."""
    with zipfile.ZipFile(wheel) as archive:
        names = [entry.filename for entry in archive.infolist() if not entry.is_dir()]
        return {name: archive.read(name) for name in names if _is_needed(PurePosixPath(name))}


def installed_contents(folder: Path) -> Contents:
    """Installed packages without tests, type stubs, scripts and AWS services that we never call.

    Licences stay. What an installer wrote is left out: it differs from one machine to the next.
    """
    return {str(name): path.read_bytes() for name, path in files_in(folder) if _is_needed(name)}


def files_in(folder: Path) -> Iterator[tuple[PurePosixPath, Path]]:
    """All but hidden ones and bytecode, each with its path inside the folder."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith("."):
            yield PurePosixPath(path.relative_to(folder)), path


def _is_needed(path: PurePosixPath) -> bool:
    match path.parts:
        case ("boto3" | "botocore", "data", service, _, *_) if service not in AWS_SERVICES:
            return False
    return is_shipped(path) and "tests" not in path.parts[:-1]


def install(
    uv: Uv, group: str, platform: Platform, folder: Path, *, without: Sequence[str] = ()
) -> None:
    """Install a dependency group's packages, without our own, into ``folder``.

    Only wheels, by their hashes; none of the packages ``without``, which are there already.
    """
    subject = f"pyproject.toml, group {group}"
    not_there = [f"--no-emit-package={name}" for name in without]
    only = ("--only-group", group, "--no-emit-workspace", *not_there)
    plain = ("--locked", "--no-header", "--no-annotate")
    requirements = run_uv(uv, "export", *plain, *only, subject=subject)
    into = install_options(folder, platform)
    exact = ("--no-deps", "--require-hashes", "--requirements", "-")
    run_uv(uv, "pip", "install", *into, *exact, subject=subject, given=requirements)


def run_uv(uv: Uv, *arguments: str, subject: str, given: str = "") -> str:
    """Run uv on what ``subject`` names, and give what it printed."""
    try:
        return uv.run(*arguments, given=given)
    except UvFailedError as failure:
        remedy = "mend that (`uv lock` renews a stale uv.lock) and run `make artifacts` again"
        raise CannotBuildError(subject, failure.problem, remedy) from None


def uv_of(root: Path) -> Uv:
    """Find the uv that the set-up uses: its own, or the one on ``PATH``."""
    ours = root / "build" / "uv" / "bin" / "uv"
    try:
        return uv_for(root, ours if ours.is_file() else None)
    except UvFailedError:
        raise CannotBuildError("build/uv/bin/uv", "is missing", "run `make environment`") from None
