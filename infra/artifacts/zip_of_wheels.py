"""Glue's zip of wheels, made of installed packages: uv installs wheels and hands none out.

Glue unpacks ``wheels/`` and runs pip on its ``requirements.txt``, with no other index.
"""

import base64
import csv
import hashlib
from pathlib import Path

from fleetlane.parsers.artifacts.writing import Contents
from infra.artifacts.archive import archive_bytes
from infra.artifacts.contents import installed_contents


def zip_of_wheels(folder: Path) -> Contents:
    """Pack the packages that are installed in ``folder`` as wheels again.

    Scripts are left out, as jobs call none.
    """
    installed, notes = installed_contents(folder), sorted(folder.glob("*.dist-info"))
    wheels = {
        f"wheels/{note.stem}-{_tags(note)}.whl": archive_bytes(_wheel(note, installed))
        for note in notes
    }
    lines = ["==".join(note.stem.rsplit("-", 1)) for note in notes]
    return {**wheels, "wheels/requirements.txt": "".join(f"{line}\n" for line in lines).encode()}


def _wheel(note: Path, installed: Contents) -> Contents:
    """One package's files, and a list of exactly these in place of the installer's."""
    with (note / "RECORD").open(encoding="utf-8", newline="") as record:
        names = {row[0] for row in csv.reader(record)}
    files = {name: data for name, data in installed.items() if name in names}
    list_name = f"{note.name}/RECORD"
    rows = [f"{name},sha256={_digest(data)},{len(data)}\n" for name, data in files.items()]
    return {**files, list_name: "".join([*rows, f"{list_name},,\n"]).encode()}


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def _tags(note: Path) -> str:
    """The last part of a wheel's file name: each of its three kinds of tags, joined by dots."""
    lines = (note / "WHEEL").read_text(encoding="utf-8").splitlines()
    tags = [line.removeprefix("Tag: ").split("-") for line in lines if line.startswith("Tag: ")]
    return "-".join(".".join(sorted(set(kind))) for kind in zip(*tags, strict=True))
