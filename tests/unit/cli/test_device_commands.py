"""``fleetlane device`` against a stage's stores, which here are moto's."""

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
from fleetlane.events.overrides import RateLimits
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


def test_a_device_is_registered_with_its_own_public_key(
    device: Device, stores: DeviceStores, key_file: Path
) -> None:
    added(device, "d-1", key_file, "--type", "tank", "--gateway", "gw-1")

    found = stores.registry.find("d-1")
    assert found is not None
    assert (found.device_type, found.gateway_id) == ("tank", "gw-1")
    assert found.keys == (json.loads(key_file.read_text()),)


def test_a_stages_device_gets_no_key_that_was_made_elsewhere(device: Device) -> None:
    result = device("add", "d-1")

    assert (result.exit_code, "--public-key" in result.stderr) == (1, True)


def test_a_device_is_not_registered_twice(device: Device, key_file: Path) -> None:
    added(device, "d-1", key_file)

    result = device("add", "d-1", "--public-key", str(key_file))

    assert (result.exit_code, "exists already" in result.stderr) == (1, True)


def test_a_stage_and_a_data_folder_are_not_both_given(device: Device, tmp_path: Path) -> None:
    result = device("list", "--data", str(tmp_path))

    assert (result.exit_code, "--stage or --data, not both" in result.stderr) == (1, True)


@pytest.mark.usefixtures("table")
def test_a_stage_that_was_not_deployed_is_named_with_its_region() -> None:
    result = CliRunner().invoke(app, ["device", "list", "--stage", "nowhere"])

    assert result.exit_code == 1
    assert result.stderr.startswith("error: stage nowhere is not deployed in us-east-1: ")


def test_a_stage_without_credentials_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    use_region(monkeypatch)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, "/dev/null")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setattr("boto3.DEFAULT_SESSION", None)  # it remembers credentials

    result = CliRunner().invoke(app, ["device", "list", "--stage", "dev"])

    assert result.exit_code == 1
    assert result.stderr.startswith("error: stage dev needs AWS credentials")


def test_a_device_is_shown_with_what_holds_it_back(device: Device, key_file: Path) -> None:
    added(device, "d-1", key_file)
    device("quarantine", "d-1")

    shown = json.loads(device("show", "d-1", "--json").stdout)

    kid = json.loads(key_file.read_text())["kid"]
    assert shown["keys"] == {kid: "Ed25519"}
    assert (shown["status"], shown["override"]) == ("quarantined", "quarantined")


def test_a_device_is_shown_for_people_too(device: Device, key_file: Path) -> None:
    added(device, "d-1", key_file)

    lines = device("show", "d-1").stdout.splitlines()

    assert "status         active" in lines
    assert "override       -" in lines


def test_a_device_that_is_not_there_cannot_be_shown(device: Device) -> None:
    result = device("show", "d-1")

    assert (result.exit_code, result.stderr) == (1, "error: device d-1 is not registered\n")


@pytest.mark.parametrize(
    ("options", "listed"),
    [
        ((), {"d-1", "d-2", "d-3"}),
        (("--status", "revoked"), {"d-2"}),
        (("--type", "tank"), {"d-2", "d-3"}),
        (("--status", "active", "--type", "tank"), {"d-3"}),
        (("--type", "nothing"), set()),
    ],
)
def test_devices_are_listed_by_status_and_type(
    device: Device, key_file: Path, options: tuple[str, ...], listed: set[str]
) -> None:
    added(device, "d-1", key_file)
    added(device, "d-2", key_file, "--type", "tank")
    added(device, "d-3", key_file, "--type", "tank")
    device("revoke", "d-2")

    result = device("list", "--json", *options)

    lines = map(json.loads, result.stdout.splitlines())
    assert {line["device_id"] for line in lines} == listed


def test_devices_are_listed_for_people_too(device: Device, key_file: Path) -> None:
    added(device, "d-1", key_file)

    heading, row = device("list").stdout.splitlines()

    assert heading.split() == ["id", "type", "status", "keys", "registered"]
    assert row.split()[:4] == ["d-1", "generic", "active", "1"]


def test_a_second_key_leaves_the_first_until_it_is_removed(
    device: Device, stores: DeviceStores, key_file: Path, tmp_path: Path
) -> None:
    added(device, "d-1", key_file)
    first = json.loads(key_file.read_text())
    second = DeviceKey.generate()
    device("rotate", "d-1", "--public-key", str(jwk_file(tmp_path / "2.jwk", second)))
    both = _keys(stores)

    result = device("rotate", "d-1", "--remove", first["kid"])

    assert both == (first, second.public_jwk)
    assert (_keys(stores), result.exit_code) == ((second.public_jwk,), 0)


def test_a_third_key_is_refused_and_the_two_are_named(
    device: Device, stores: DeviceStores, key_file: Path, tmp_path: Path
) -> None:
    added(device, "d-1", key_file)
    second, third = (
        jwk_file(tmp_path / f"{number}.jwk", DeviceKey.generate()) for number in (2, 3)
    )
    device("rotate", "d-1", "--public-key", str(second))

    result = device("rotate", "d-1", "--public-key", str(third))

    kids = [key["kid"] for key in _keys(stores)]
    assert (result.exit_code, len(kids)) == (1, 2)
    assert ", ".join(kids) in result.stderr


def test_adding_the_same_key_again_changes_nothing(
    device: Device, stores: DeviceStores, key_file: Path
) -> None:
    added(device, "d-1", key_file)

    result = device("rotate", "d-1", "--public-key", str(key_file))

    assert (result.exit_code, len(_keys(stores))) == (0, 1)


@pytest.mark.parametrize("kid", ["nothing", "last"])
def test_neither_the_last_key_nor_one_that_is_not_there_is_removed(
    device: Device, stores: DeviceStores, key_file: Path, kid: str
) -> None:
    added(device, "d-1", key_file)
    last = json.loads(key_file.read_text())["kid"]

    result = device("rotate", "d-1", "--remove", last if kid == "last" else kid)

    assert (result.exit_code, len(_keys(stores))) == (1, 1)


@pytest.mark.parametrize(("verb", "status"), [("quarantine", "quarantined"), ("revoke", "revoked")])
def test_holding_devices_back_changes_the_registry_and_the_overrides(
    device: Device, stores: DeviceStores, key_file: Path, verb: str, status: str
) -> None:
    added(device, "d-1", key_file)
    added(device, "d-2", key_file)

    result = device(verb, "d-1", "d-2")

    overrides = stores.overrides.read()
    assert result.stdout == f"{status}: d-1, d-2\n"
    assert _status(stores) == DeviceStatus(status)
    assert {overrides.restriction(one, now_ms=now_ms()) for one in ("d-1", "d-2")} == {status}


def test_an_override_ends_when_every_kept_answer_has(
    device: Device, stores: DeviceStores, key_file: Path
) -> None:
    added(device, "d-1", key_file)
    device("revoke", "d-1")

    overrides = stores.overrides.read()

    assert overrides.restriction("d-1", now_ms=now_ms() + 300_000) == "revoked"
    assert overrides.restriction("d-1", now_ms=now_ms() + 25 * 3_600_000) is None


def test_if_one_of_several_devices_is_unknown_none_is_changed(
    device: Device, stores: DeviceStores, key_file: Path
) -> None:
    added(device, "d-1", key_file)

    result = device("revoke", "d-1", "d-2")

    assert (result.exit_code, _status(stores)) == (1, DeviceStatus.ACTIVE)
    assert stores.overrides.read().devices == {}


def test_a_released_device_may_send_again(
    device: Device, stores: DeviceStores, key_file: Path
) -> None:
    added(device, "d-1", key_file)
    device("revoke", "d-1")

    device("release", "d-1")

    assert (_status(stores), stores.overrides.read().devices) == (DeviceStatus.ACTIVE, {})


def test_rate_limits_are_set_for_one_device_and_for_all(
    device: Device, stores: DeviceStores
) -> None:
    device("rate-limit", "d-1", "--soft", "10", "--hard", "20")
    device("rate-limit", "--soft", "100", "--hard", "200")

    overrides = stores.overrides.read()

    own, others = (overrides.rate_limits_of(one, of_stage=None) for one in ("d-1", "d-2"))
    assert own == RateLimits(soft_per_minute=10, hard_per_minute=20)
    assert others == RateLimits(soft_per_minute=100, hard_per_minute=200)


def test_rate_limits_may_name_bytes_too(device: Device, stores: DeviceStores) -> None:
    of_bytes = ("--soft-bytes", "1000", "--hard-bytes", "2000")

    device("rate-limit", "d-1", "--soft", "10", "--hard", "20", *of_bytes)

    own = stores.overrides.read().rate_limits_of("d-1", of_stage=None)
    assert own is not None
    assert (own.soft_bytes_per_minute, own.hard_bytes_per_minute) == (1_000, 2_000)


def test_rate_limits_are_taken_away(device: Device, stores: DeviceStores) -> None:
    device("rate-limit", "d-1", "--soft", "10", "--hard", "20")

    device("rate-limit", "d-1", "--clear")

    assert stores.overrides.read().rate_limits_of("d-1", of_stage=None) is None


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--soft", "1"),
        ("--hard", "1"),
        ("--soft", "2", "--hard", "1"),
        ("--clear", "--soft", "1"),
        ("--soft", "1", "--hard", "1", "--soft-bytes", "2", "--hard-bytes", "1"),
    ],
)
def test_rate_limits_that_cannot_be_are_refused(device: Device, options: tuple[str, ...]) -> None:
    result = device("rate-limit", "d-1", *options)

    assert (result.exit_code, result.stderr.startswith("error: ")) == (1, True)


def test_a_file_of_devices_is_registered_and_again_without_effect(
    device: Device, stores: DeviceStores, tmp_path: Path
) -> None:
    path = tmp_path / "devices.csv"
    jwk = json.dumps(DeviceKey.generate().public_jwk).replace('"', '""')
    path.write_text(f'device_id,device_type,public_key\nd-1,tank,"{jwk}"\nd-2,tank,"{jwk}"\n')

    printed = [device("import", str(path)).stdout for _ in range(2)]

    assert printed == ["registered 2, unchanged 0\n", "registered 0, unchanged 2\n"]
    assert set(stores.registry.find_all(["d-1", "d-2"])) == {"d-1", "d-2"}


def test_a_file_with_a_wrong_line_registers_nothing_and_names_the_line(
    device: Device, stores: DeviceStores, tmp_path: Path
) -> None:
    path = tmp_path / "devices.csv"
    jwk = json.dumps(DeviceKey.generate().public_jwk).replace('"', '""')
    path.write_text(f'device_id,device_type,public_key\nd-1,tank,"{jwk}"\nd-2,tank,no key\n')

    result = device("import", str(path))

    said = "line 3: the public key is neither PEM nor a JWK (JSON)"
    assert (result.exit_code, said in result.stderr) == (1, True)
    assert stores.registry.find("d-1") is None


def _keys(stores: DeviceStores) -> tuple[Jwk, ...]:
    found = stores.registry.find("d-1")
    assert found is not None
    return found.keys


def _status(stores: DeviceStores) -> DeviceStatus:
    found = stores.registry.find("d-1")
    assert found is not None
    return found.status
