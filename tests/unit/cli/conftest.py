"""``fleetlane device`` as a stage's operator runs it, and what it leaves behind; AWS is moto's."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
import pytest
from typer.testing import CliRunner, Result

from clients.device_api import DeviceKey
from clients.devices.registry import DeviceStatus, Jwk
from fleetlane.cli.main import app
from operations.devices.stores import DeviceStores
from operations.platform import Platform
from tests.contract.aws_in_process import device_table
from tests.deployed_stage import STAGE, use_region, write_stage

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.service_resource import Table

BUCKET = "artifacts"
type Device = Callable[..., Result]


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> "Iterator[Table]":
    use_region(monkeypatch)
    with device_table() as table:
        boto3.client("s3").create_bucket(Bucket=BUCKET)
        write_stage(overrides_bucket=BUCKET)
        yield table


@pytest.fixture
def stores(table: "Table") -> DeviceStores:
    return Platform.of_stage(STAGE).devices


@pytest.fixture
def device(table: "Table", tmp_path: Path) -> Device:
    def run(*arguments: str) -> Result:
        return CliRunner().invoke(app, ["device", *arguments, "--stage", STAGE])

    return run


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    return jwk_file(tmp_path / "first.jwk", DeviceKey.generate())


def jwk_file(path: Path, key: DeviceKey) -> Path:
    path.write_text(json.dumps(key.public_jwk))
    return path


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def added(device: Device, device_id: str, key_file: Path, *more: str) -> None:
    result = device("add", device_id, "--public-key", str(key_file), *more)
    assert result.exit_code == 0, result.output


def keys_of(stores: DeviceStores) -> tuple[Jwk, ...]:
    found = stores.registry.find("d-1")
    assert found is not None
    return found.keys


def status_of(stores: DeviceStores) -> DeviceStatus:
    found = stores.registry.find("d-1")
    assert found is not None
    return found.status
