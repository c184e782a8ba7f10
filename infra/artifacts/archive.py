"""Archives whose bytes depend only on their contents and on the zlib that packs them."""

import hashlib
import io
import stat
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from fleetlane.parsers.artifacts.writing import Contents, zip_entry
from infra.artifacts.failures import CannotBuildError


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """A file that was built. ``unpacked_bytes`` counts what an archive holds."""

    path: Path
    size_bytes: int
    unpacked_bytes: int
    sha256: str


def artifact_at(path: Path) -> Artifact:
    """Measure a file that was built."""
    data, unpacked_bytes = path.read_bytes(), path.stat().st_size
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            unpacked_bytes = sum(entry.file_size for entry in archive.infolist())
    return Artifact(
        path=path,
        size_bytes=len(data),
        unpacked_bytes=unpacked_bytes,
        sha256=hashlib.sha256(data).hexdigest(),
    )


def write_archive(path: Path, contents: Contents) -> Artifact:
    """Write a zip in place of what is at ``path``, which is never there half-written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    partial.write_bytes(archive_bytes(contents))
    partial.replace(path)
    return artifact_at(path)


def archive_bytes(contents: Contents) -> bytes:
    """Zip the contents, in the order of their names.

    Folders get entries of their own: without them Python finds no namespace package in a zip.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in sorted({*contents, *_folders_of(contents)}):
            archive.writestr(_entry(name), contents.get(name, b""))
    return buffer.getvalue()


def merged(*parts: Contents) -> Contents:
    """Put contents together.

    Raises:
        CannotBuildError: Two parts bring a file of the same name, and not the same file.
    """
    whole: dict[str, bytes] = {}
    for part in parts:
        for name, data in part.items():
            if whole.setdefault(name, data) != data:
                raise CannotBuildError(name, "comes from two packages", "take one of them out")
    return whole


def _folders_of(contents: Contents) -> set[str]:
    folders = {parent for name in contents for parent in PurePosixPath(name).parents}
    return {f"{folder}/" for folder in folders if folder.name}


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zip_entry(name)
    entry.compress_type = zipfile.ZIP_DEFLATED
    if entry.is_dir():
        entry.external_attr = (stat.S_IFDIR | 0o755) << 16
    return entry
