"""Writing an artifact, whose bytes depend on its contents alone; and unpacking one, untrusted."""

import hashlib
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.flows.artifacts import (
    ARTIFACT_BYTES_MAX,
    FORMAT,
    MANIFEST_NAME,
    MEMBERS_MAX,
    BadArtifactError,
    Manifest,
    Member,
    opened_artifact,
    read_manifest,
    sha256_of_file,
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

    artifact: str
    found: int
    limit: int
    unit: str
    sentence = "{artifact} has {found} {unit}; the limit is {limit}"


def write_artifact(folder: Path, package: Package, contents: Contents) -> Path:
    """Write ``NAME-VERSION.zip`` into a folder; it is never there half-written.

    Files are stored, not compressed: so the same contents are the same bytes on every machine,
    and nothing can grow when it is unpacked.

    Raises ``ArtifactTooLargeError`` at too many files, or too many bytes in them.
    """
    members = {
        name: Member(sha256=hashlib.sha256(data).hexdigest(), size_bytes=len(data))
        for name, data in contents.items()
    }
    manifest = Manifest(format=FORMAT, python=PYTHON, members=members, **asdict(package))
    size_bytes = sum(map(len, contents.values()))
    limits = (size_bytes, ARTIFACT_BYTES_MAX, "bytes"), (len(contents), MEMBERS_MAX, "files")
    for found, limit, unit in limits:
        if found > limit:
            raise ArtifactTooLargeError(manifest.file_name, found, limit, unit)
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


_PATH_BYTES_MAX: Final = 240
_ENCRYPTED: Final = 0x1
_NOT_IN_A_PATH: Final = frozenset('\\:\0<>"|?*')  # somewhere a separator, a drive, or not allowed


def unpack(path: Path, folder: Path) -> Manifest:
    """Unpack an artifact into a folder that is empty or not there yet, and give its manifest.

    Whatever fails leaves the folder half-filled: it is the caller's to remove, and to rename once
    this has returned, where others may look.

    Raises ``BadArtifactError`` where it is no artifact; or a file is missing, there twice, not in
    the manifest, larger or other than declared, or would lie outside the folder.
    """
    artifact = path.name
    try:
        with opened_artifact(path, artifact=artifact) as (archive, manifest):
            _check_names(archive, manifest, artifact)
            for name, member in manifest.members.items():
                data = _checked(archive, name, member, artifact)
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(data)
    except (FileExistsError, IsADirectoryError, NotADirectoryError) as problem:
        raise BadArtifactError(artifact, f"a file is a folder too: {problem.filename}") from None
    return manifest


def is_unpacked(path: Path, sha256: str, folder: Path, compiled: Mapping[str, str]) -> bool:
    """Whether a folder has the files of the artifact ``path``, and of what was compiled, no others.

    The artifact must have the digest ``sha256``; ``compiled`` maps a path to its digest.
    """
    try:
        if not folder.is_dir() or sha256_of_file(path) != sha256:
            return False
        members = read_manifest(path, artifact=path.name).members
        own = {name: member.sha256 for name, member in members.items()}
        return digests_in(folder) == dict(compiled) | own
    except (OSError, BadArtifactError):
        return False


def digests_in(folder: Path) -> dict[str, str]:
    """The digest of each file by its path; of what is no plain file, what it is not."""
    return {
        one.relative_to(folder).as_posix(): sha256_of_file(one)
        if one.is_file(follow_symlinks=False)
        else "no plain file"
        for one in folder.rglob("*")
        if one.is_symlink() or not one.is_dir()
    }


def _check_names(archive: zipfile.ZipFile, manifest: Manifest, artifact: str) -> None:
    found, declared = archive.namelist(), {MANIFEST_NAME, *manifest.members}
    if MANIFEST_NAME in manifest.members or len(found) != len(declared) or {*found} != declared:
        odd = sorted({*found} ^ declared)[:1] or ["one of them twice"]
        problem = f"contains other files than its manifest lists: {odd[0]!r:.200}"
        raise BadArtifactError(artifact, problem)
    outside = next((name for name in manifest.members if not _stays_inside(name)), None)
    if outside is not None:
        raise BadArtifactError(artifact, f"file {outside!r:.200} is no plain path below its folder")
    size_bytes = sum(member.size_bytes for member in manifest.members.values())
    if size_bytes > ARTIFACT_BYTES_MAX:
        problem = f"its files have {size_bytes} bytes; the limit is {ARTIFACT_BYTES_MAX} bytes"
        raise BadArtifactError(artifact, problem)


def _stays_inside(name: str) -> bool:
    if len(name.encode()) > _PATH_BYTES_MAX or not _NOT_IN_A_PATH.isdisjoint(name):
        return False
    return {"", ".", "..", "__pycache__"}.isdisjoint(name.split("/"))  # workers compile it


def _checked(archive: zipfile.ZipFile, name: str, member: Member, artifact: str) -> bytes:
    entry = archive.getinfo(name)
    sizes = {entry.file_size, entry.compress_size, member.size_bytes}
    is_plain = entry.compress_type == zipfile.ZIP_STORED and not entry.flag_bits & _ENCRYPTED
    if not is_plain or len(sizes) != 1:
        problem = f"file {name!r:.200} is not stored as the {member.size_bytes} bytes"
        raise BadArtifactError(artifact, f"{problem} that its manifest says")
    data = archive.read(entry)
    digest = hashlib.sha256(data).hexdigest()
    if digest != member.sha256:
        problem = f"file {name!r:.200} has the digest {digest}; its manifest says {member.sha256}"
        raise BadArtifactError(artifact, problem)
    return data
