"""Writing an artifact: the bytes of the zip depend on its contents alone."""

import hashlib
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.flows.artifacts import (
    ARTIFACT_BYTES_MAX,
    FORMAT,
    MANIFEST_NAME,
    MEMBERS_MAX,
    Manifest,
    Member,
)

type Contents = Mapping[str, bytes]
"""Files by their path inside the artifact."""

PYTHON: Final = "3.13"

_TIMESTAMP: Final = (1980, 1, 1, 0, 0, 0)
_MADE_ON_UNIX: Final = 3
_PLAIN_FILE: Final = 0o100644 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """Whose artifact it is: a distribution, and its entry points by the parsers' names."""

    name: str
    version: str
    parsers: Mapping[str, str]
    platform: str


class ArtifactTooLargeError(FleetlaneError):
    """An artifact would be over its limit; nothing of it was written."""

    reason = "artifact_too_large"
    artifact: str
    found: int
    limit: int
    unit: str
    sentence = "{artifact} has {found} {unit}; the limit is {limit}"


def write_artifact(folder: Path, package: Package, contents: Contents) -> Path:
    """Write ``NAME-VERSION.zip`` into a folder; it is never there half-written.

    Files are stored, not compressed: so the same contents are the same bytes on every machine,
    and nothing can grow when it is unpacked.

    Raises:
        ArtifactTooLargeError: There are too many files, or too many bytes in them.
    """
    manifest = _manifest(package, contents)
    _check(manifest)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / manifest.file_name
    partial = path.with_name(f".{path.name}.partial")
    with zipfile.ZipFile(partial, "w") as archive:
        archive.writestr(zip_entry(MANIFEST_NAME), manifest.to_json())
        for name in sorted(contents):
            archive.writestr(zip_entry(name), contents[name])
    partial.replace(path)
    return path


def zip_entry(name: str) -> zipfile.ZipInfo:
    """A file's entry whose bytes are the same whenever and wherever it is written."""
    entry = zipfile.ZipInfo(name, _TIMESTAMP)
    entry.create_system, entry.external_attr = _MADE_ON_UNIX, _PLAIN_FILE
    return entry


def _manifest(package: Package, contents: Contents) -> Manifest:
    members = {
        name: Member(sha256=hashlib.sha256(data).hexdigest(), size_bytes=len(data))
        for name, data in contents.items()
    }
    return Manifest(
        format=FORMAT,
        name=package.name,
        version=package.version,
        python=PYTHON,
        platform=package.platform,
        parsers=dict(package.parsers),
        members=members,
    )


def _check(manifest: Manifest) -> None:
    size_bytes = sum(member.size_bytes for member in manifest.members.values())
    for found, limit, unit in (
        (size_bytes, ARTIFACT_BYTES_MAX, "bytes"),
        (len(manifest.members), MEMBERS_MAX, "files"),
    ):
        if found > limit:
            raise ArtifactTooLargeError(manifest.file_name, found, limit, unit)
