"""Artifacts as they are written, read and unpacked; and those that nobody should unpack."""

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetlane.events.flows.artifacts import (
    ANY_PLATFORM,
    MANIFEST_NAME,
    BadArtifactError,
    read_manifest,
    sha256_of_file,
)
from fleetlane.parsers.artifacts.writing import (
    ArtifactTooLargeError,
    Package,
    unpack,
    write_artifact,
)
from fleetlane.parsers.registry import find_parser

TANK = Package(
    name="Tank_Parsers",
    version="1.0",
    parsers={"tank-level": "tank:TankLevel"},
    platform=ANY_PLATFORM,
)
CONTENTS = {
    "tank/__init__.py": b"class TankLevel:\n    def parse(self, message): yield {}\n",
    "tank_parsers-1.0.dist-info/METADATA": b"Name: tank-parsers\nVersion: 1.0\n",
    "tank_parsers-1.0.dist-info/entry_points.txt": (
        b"[fleetlane.parsers]\ntank-level = tank:TankLevel\n"
    ),
}

type Entries = dict[str, bytes]
type Spoil = Callable[[dict[str, Any], Entries], None]


@pytest.fixture
def artifact(tmp_path: Path) -> Path:
    return write_artifact(tmp_path / "built", TANK, CONTENTS)


def rewritten(artifact: Path, spoil: Spoil, *, compression: int = zipfile.ZIP_STORED) -> Path:
    """An artifact with its manifest, or its files by name, spoilt."""
    with zipfile.ZipFile(artifact) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(entries.pop(MANIFEST_NAME))
    spoil(manifest, entries)
    with zipfile.ZipFile(artifact, "w", compression) as archive:
        archive.writestr(MANIFEST_NAME, json.dumps(manifest), zipfile.ZIP_STORED)
        for name, data in entries.items():
            archive.writestr(name, data)
    return artifact


def moved_to(outside: str) -> Spoil:
    def spoil(manifest: dict[str, Any], entries: Entries) -> None:
        entries[outside] = entries.pop("tank/__init__.py")
        manifest["members"][outside] = manifest["members"].pop("tank/__init__.py")

    return spoil


def with_one_more(manifest: dict[str, Any], entries: Entries) -> None:
    entries["more.py"] = b""


def with_one_less(manifest: dict[str, Any], entries: Entries) -> None:
    del entries["tank/__init__.py"]


def with_other_bytes(manifest: dict[str, Any], entries: Entries) -> None:
    entries["tank/__init__.py"] = entries["tank/__init__.py"].swapcase()


def with_a_wrong_size(manifest: dict[str, Any], entries: Entries) -> None:
    manifest["members"]["tank/__init__.py"]["size_bytes"] += 1


def with_a_huge_size(manifest: dict[str, Any], entries: Entries) -> None:
    manifest["members"]["tank/__init__.py"]["size_bytes"] = 1 << 40


def with_a_file_that_is_a_folder(manifest: dict[str, Any], entries: Entries) -> None:
    entries["tank"] = entries["tank/__init__.py"]
    manifest["members"]["tank"] = manifest["members"]["tank/__init__.py"]


def of_a_later_format(manifest: dict[str, Any], entries: Entries) -> None:
    manifest["format"] = 2


def without_parsers(manifest: dict[str, Any], entries: Entries) -> None:
    manifest["parsers"] = {}


def as_it_is(manifest: dict[str, Any], entries: Entries) -> None:
    """Nothing is spoilt."""


def test_an_artifact_is_named_for_its_package_and_version(artifact: Path) -> None:
    assert artifact.name == "tank-parsers-1.0.zip"


def test_the_manifest_says_which_parsers_it_offers(artifact: Path) -> None:
    manifest = read_manifest(artifact, artifact=artifact.name)

    assert (manifest.uses, manifest.parsers) == (("tank-level==1.0",), TANK.parsers)


@pytest.mark.parametrize(
    ("use", "is_offered"),
    [
        ("tank-level==1.0", True),
        ("tank-level==1.0.0", True),
        ("tank-level==1.1", False),
        ("tank-level", False),
        ("tank==1.0", False),
    ],
)
def test_what_a_flow_pins_is_offered_by_an_equal_version(
    artifact: Path, use: str, *, is_offered: bool
) -> None:
    manifest = read_manifest(artifact, artifact=artifact.name)

    assert manifest.offers(use) is is_offered


def test_the_same_contents_are_the_same_bytes(artifact: Path, tmp_path: Path) -> None:
    backwards = dict(reversed(CONTENTS.items()))

    again = write_artifact(tmp_path / "again", TANK, backwards)

    assert sha256_of_file(again) == sha256_of_file(artifact)


def test_unpacked_it_is_a_folder_for_the_path(artifact: Path, tmp_path: Path) -> None:
    folder = tmp_path / "site"

    unpack(artifact, folder)

    assert find_parser("tank-level==1.0", str(folder)).entry_point.value == "tank:TankLevel"


def test_unpacked_it_holds_the_same_files(artifact: Path, tmp_path: Path) -> None:
    folder = tmp_path / "site"

    unpack(artifact, folder)

    files = (path for path in folder.rglob("*") if path.is_file())
    assert {path.relative_to(folder).as_posix(): path.read_bytes() for path in files} == CONTENTS


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (moved_to("../tank.py"), "'../tank.py' is no plain path below its folder"),
        (moved_to("/tank.py"), "'/tank.py' is no plain path"),
        (moved_to("C:tank.py"), "'C:tank.py' is no plain path"),
        (moved_to("a\\..\\..\\tank.py"), "tank.py' is no plain path"),
        (moved_to("a//tank.py"), "'a//tank.py' is no plain path"),
        (moved_to("a/" * 200 + "tank.py"), "is no plain path"),
        (with_one_more, "other files than its manifest lists: 'more.py'"),
        (with_one_less, "other files than its manifest lists: 'tank/__init__.py'"),
        (with_other_bytes, "file 'tank/__init__.py' has the digest"),
        (with_a_wrong_size, "is not stored as the"),
        (with_a_huge_size, f"its files have {(1 << 40) + 80} bytes; the limit is 134217728 bytes"),
        (with_a_file_that_is_a_folder, "a file is a folder too"),
        (of_a_later_format, "is of format 2; this Fleetlane reads format 1"),
        (without_parsers, "Expected `object` of length >= 1 - at `$.parsers`"),
    ],
)
def test_an_artifact_that_was_spoilt_is_refused(
    artifact: Path, tmp_path: Path, spoil: Spoil, why: str
) -> None:
    spoilt = rewritten(artifact, spoil)

    with pytest.raises(BadArtifactError) as refusal:
        unpack(spoilt, tmp_path / "deep" / "site")

    assert why in str(refusal.value)


def test_a_compressed_artifact_is_refused(artifact: Path, tmp_path: Path) -> None:
    compressed = rewritten(artifact, as_it_is, compression=zipfile.ZIP_DEFLATED)

    with pytest.raises(BadArtifactError, match="is not stored as the"):
        unpack(compressed, tmp_path / "site")


def test_a_file_that_is_there_twice_is_refused(artifact: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(artifact, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("tank/__init__.py", b"")

    with pytest.raises(BadArtifactError, match="one of them twice"):
        unpack(artifact, tmp_path / "site")


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04"])
def test_what_is_no_zip_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "tank.zip"
    path.write_bytes(data)

    with pytest.raises(BadArtifactError, match="is not a whole zip file"):
        read_manifest(path, artifact="tank.zip")


@pytest.mark.parametrize(
    ("place", "byte"),
    [
        pytest.param(6, 64, id="a version to come"),
        pytest.param(8, 0x01, id="encrypted"),
        pytest.param(8, 0x20, id="patched data"),
        pytest.param(8, 0x40, id="strong encryption"),
        pytest.param(45, 0xFF, id="a member before the beginning"),
    ],
)
def test_what_zipfile_cannot_read_of_the_manifest_is_refused(
    artifact: Path, place: int, byte: int
) -> None:
    data = bytearray(artifact.read_bytes())
    directory = data.index(b"PK\x01\x02")  # the entry of the manifest comes first
    data[directory + place] = byte

    with pytest.raises(BadArtifactError, match="is not a whole zip file"):
        read_manifest(io.BytesIO(data), artifact="tank.zip")


def test_a_zip_of_something_else_says_how_to_make_an_artifact() -> None:
    with zipfile.ZipFile(buffer := io.BytesIO(), "w") as archive:
        archive.writestr("tank.py", b"")

    with pytest.raises(BadArtifactError, match="make it with `fleetlane parser build`"):
        read_manifest(buffer, artifact="tank.zip")


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(BadArtifactError, match=r"tank\.zip: does not exist"):
        unpack(tmp_path / "tank.zip", tmp_path / "site")


@given(
    place=st.integers(min_value=0, max_value=2_000), byte=st.integers(min_value=0, max_value=255)
)
def test_any_byte_changed_is_refused_or_changes_nothing_that_is_unpacked(
    tmp_path_factory: pytest.TempPathFactory, place: int, byte: int
) -> None:
    folder = tmp_path_factory.mktemp("spoilt")
    path = write_artifact(folder, TANK, CONTENTS)
    data = bytearray(path.read_bytes())
    data[place % len(data)] = byte
    path.write_bytes(data)

    try:
        unpack(path, folder / "site")
    except BadArtifactError:
        return

    assert {name: (folder / "site" / name).read_bytes() for name in CONTENTS} == CONTENTS


def test_one_with_too_many_files_is_not_written(tmp_path: Path) -> None:
    contents = {f"tank/{number}.py": b"" for number in range(10_001)}

    with pytest.raises(ArtifactTooLargeError) as refusal:
        write_artifact(tmp_path, TANK, contents)

    assert str(refusal.value) == "tank-parsers-1.0.zip has 10001 files; the limit is 10000"
    assert list(tmp_path.iterdir()) == []
