"""Unpacking an artifact into a folder for ``sys.path``. It is not trusted: each file is checked."""

import hashlib
import zipfile
from pathlib import Path
from typing import Final

from fleetlane.events.flows.artifacts import (
    ARTIFACT_BYTES_MAX,
    MANIFEST_NAME,
    BadArtifactError,
    Manifest,
    Member,
    manifest_in,
    opened_artifact,
)

_PATH_BYTES_MAX: Final = 240
_ENCRYPTED: Final = 0x1
_NOT_IN_A_PATH: Final = frozenset('\\:\0<>"|?*')  # somewhere a separator, a drive, or not allowed


def unpack(path: Path, folder: Path) -> Manifest:
    """Unpack an artifact into a folder that is empty or not there yet, and give its manifest.

    Whatever fails leaves the folder half-filled: it is the caller's to remove, and to rename once
    this has returned, where others may look.

    Raises:
        BadArtifactError: It is no artifact; or a file is missing, there twice, not in the
            manifest, larger or other than declared, or would lie outside the folder.
    """
    artifact = path.name
    try:
        with opened_artifact(path, artifact=artifact) as archive:
            manifest = manifest_in(archive, artifact=artifact)
            _check_names(archive, manifest, artifact)
            for name, member in manifest.members.items():
                _write(folder / name, _checked(archive, name, member, artifact))
    except (FileExistsError, IsADirectoryError, NotADirectoryError) as problem:
        raise BadArtifactError(artifact, f"a file is a folder too: {problem.filename}") from None
    return manifest


def _check_names(archive: zipfile.ZipFile, manifest: Manifest, artifact: str) -> None:
    found, declared = archive.namelist(), {MANIFEST_NAME, *manifest.members}
    if MANIFEST_NAME in manifest.members or len(found) != len(declared) or {*found} != declared:
        odd = sorted({*found} ^ declared)[:1] or ["one of them twice"]
        raise BadArtifactError(
            artifact, f"contains other files than its manifest lists: {odd[0]!r:.200}"
        )
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
    return {"", ".", ".."}.isdisjoint(name.split("/"))


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


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
