"""One platform at a time on a data folder, and the file that tells where it answers."""

import json
from pathlib import Path

import pytest

from local.data_folder import (
    FolderInUseError,
    FolderNotOursError,
    announced,
    endpoints_of,
    taken_data_folder,
)
from operations.endpoints import Endpoints, PlatformNotRunningError

ENDPOINTS = Endpoints(
    api="http://127.0.0.1:1",
    kafka="127.0.0.1:2",
    s3="http://127.0.0.1:3",
    dynamodb="http://127.0.0.1:4",
    region="eu-central-1",
)


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def test_a_running_platforms_addresses_are_found(tmp_path: Path) -> None:
    with taken_data_folder(tmp_path), announced(ENDPOINTS, tmp_path):
        found = endpoints_of(tmp_path)

    assert found == ENDPOINTS


def test_the_file_has_a_key_for_each_address(tmp_path: Path) -> None:
    with announced(ENDPOINTS, tmp_path):
        found = json.loads((tmp_path / "endpoints.json").read_text())

    assert found.keys() >= {"api", "kafka", "s3", "dynamodb"}


def test_after_the_platform_there_is_no_file(tmp_path: Path) -> None:
    with announced(ENDPOINTS, tmp_path):
        pass

    assert names_in(tmp_path) == []


def test_a_platform_that_was_killed_no_longer_counts(tmp_path: Path) -> None:
    with taken_data_folder(tmp_path):
        ENDPOINTS.write(tmp_path / "endpoints.json")

    with pytest.raises(PlatformNotRunningError):
        endpoints_of(tmp_path)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"api": 1, "other": 2}'])
def test_a_file_of_something_else_counts_as_none(tmp_path: Path, content: str) -> None:
    path = tmp_path / "endpoints.json"
    path.write_text(content)

    with pytest.raises(PlatformNotRunningError):
        Endpoints.read(path)


def test_a_second_platform_on_the_folder_is_refused(tmp_path: Path) -> None:
    with taken_data_folder(tmp_path), pytest.raises(FolderInUseError), taken_data_folder(tmp_path):
        pass


def test_the_folder_is_free_again_afterwards(tmp_path: Path) -> None:
    with taken_data_folder(tmp_path):
        pass

    with taken_data_folder(tmp_path):
        assert (tmp_path / "lock").exists()


def test_fresh_empties_the_folder_save_for_its_lock(tmp_path: Path) -> None:
    with taken_data_folder(tmp_path):
        (tmp_path / "kafka").mkdir()
        (tmp_path / "kafka" / "log").touch()
        (tmp_path / "endpoints.json").touch()

    with taken_data_folder(tmp_path, fresh=True):
        assert names_in(tmp_path) == ["lock"]


def test_a_running_platforms_folder_is_not_emptied(tmp_path: Path) -> None:
    with taken_data_folder(tmp_path):
        (tmp_path / "kafka").touch()
        with pytest.raises(FolderInUseError), taken_data_folder(tmp_path, fresh=True):
            pass

    assert (tmp_path / "kafka").exists()


def test_a_folder_that_was_never_a_platforms_is_not_emptied(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").touch()

    with pytest.raises(FolderNotOursError), taken_data_folder(tmp_path, fresh=True):
        pass

    assert names_in(tmp_path) == ["thesis.txt"]
