"""``fleetlane device`` against a stage's stores, which here are moto's."""

import json
from dataclasses import replace
from pathlib import Path

import boto3
import pytest
from typer.testing import CliRunner

from clients.device_api import DeviceKey
from clients.devices.registry import DeviceStatus
from clients.devices.sightings import Sighting
from fleetlane.cli.main import app
from operations.devices.stores import DeviceStores
from tests.deployed_stage import use_region
from tests.unit.cli.conftest import BUCKET, Device, added, jwk_file, keys_of, status_of


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


def test_a_device_has_the_attributes_that_were_set_last(
    device: Device, stores: DeviceStores, key_file: Path
) -> None:
    added(device, "d-1", key_file)

    device("attributes", "d-1", "line=3")
    result = device("attributes", "d-1", "site=Ulm = north", "floor=2")

    found = stores.registry.find("d-1")
    assert found is not None
    assert (result.exit_code, found.attributes) == (0, {"site": "Ulm = north", "floor": "2"})
    assert json.loads(device("show", "d-1", "--json").stdout)["attributes"] == found.attributes


@pytest.mark.parametrize("given", ["site", "id=1", 'site=a"b', "Site=Ulm"])
def test_what_is_no_attribute_is_refused_and_the_others_stay(
    device: Device, stores: DeviceStores, key_file: Path, given: str
) -> None:
    added(device, "d-1", key_file)
    device("attributes", "d-1", "line=3")

    result = device("attributes", "d-1", given)

    found = stores.registry.find("d-1")
    assert (result.exit_code, found and found.attributes) == (1, {"line": "3"})


def test_a_device_that_is_replaced_keeps_its_attributes(
    device: Device, stores: DeviceStores, key_file: Path
) -> None:
    added(device, "d-1", key_file)
    device("attributes", "d-1", "site=Ulm")

    added(device, "d-1", key_file, "--replace")

    found = stores.registry.find("d-1")
    assert found is not None
    assert found.attributes == {"site": "Ulm"}


def test_a_device_that_is_replaced_stays_revoked(
    device: Device, stores: DeviceStores, key_file: Path, tmp_path: Path
) -> None:
    added(device, "d-1", key_file)
    device("revoke", "d-1")
    second = DeviceKey.generate()

    new_key = jwk_file(tmp_path / "2.jwk", second)
    result = device("add", "d-1", "--public-key", str(new_key), "--replace")

    assert (status_of(stores), keys_of(stores)) == (DeviceStatus.REVOKED, (second.public_jwk,))
    assert "it stays revoked, until `fleetlane device release d-1`" in result.stdout


def test_a_device_that_is_replaced_is_as_old_as_before(
    device: Device, stores: DeviceStores, key_file: Path
) -> None:
    added(device, "d-1", key_file)
    of_old = replace(stores.registry.find_all(["d-1"])["d-1"], registered_ms=1_000)
    stores.registry.register(of_old)

    device("add", "d-1", "--public-key", str(key_file), "--replace")

    assert stores.registry.find_all(["d-1"])["d-1"].registered_ms == of_old.registered_ms


def test_a_device_that_is_replaced_was_seen_when_it_was(
    device: Device, stores: DeviceStores, key_file: Path
) -> None:
    added(device, "d-1", key_file)
    seen = Sighting(device_id="d-1", seen_ms=1_790_000_000_000, firmware="2.1")
    stores.sightings.note(seen)

    device("add", "d-1", "--public-key", str(key_file), "--replace")

    assert stores.sightings.find("d-1") == seen


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

    assert "status          active" in lines
    assert "override        -" in lines


def test_where_s3_gives_no_overrides_all_else_of_a_device_is_shown(
    device: Device, key_file: Path
) -> None:
    added(device, "d-1", key_file)
    boto3.client("s3").delete_bucket(Bucket=BUCKET)

    result = device("show", "d-1")

    lines = result.stdout.splitlines()
    assert ("status          active" in lines, "override" in result.stdout) == (True, False)
    assert result.exit_code == 1
    assert result.stderr.startswith("error: overrides/current.json cannot be reached: ")


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
    both = keys_of(stores)

    result = device("rotate", "d-1", "--remove", first["kid"])

    assert both == (first, second.public_jwk)
    assert (keys_of(stores), result.exit_code) == ((second.public_jwk,), 0)


def test_adding_a_key_again_names_the_other_as_the_one_to_remove(
    device: Device, stores: DeviceStores, key_file: Path, tmp_path: Path
) -> None:
    added(device, "d-1", key_file)
    second = jwk_file(tmp_path / "2.jwk", DeviceKey.generate())
    device("rotate", "d-1", "--public-key", str(second))

    result = device("rotate", "d-1", "--public-key", str(key_file))

    assert f"--remove {keys_of(stores)[1]['kid']}" in result.stdout


def test_no_control_character_of_a_key_s_name_reaches_the_terminal(
    device: Device, key_file: Path, tmp_path: Path
) -> None:
    added(device, "d-1", key_file)
    named = tmp_path / "named.jwk"
    named.write_text(json.dumps({**DeviceKey.generate().public_jwk, "kid": "\x1b]0;mine"}))

    result = device("rotate", "d-1", "--public-key", str(named))

    assert (result.exit_code, "\x1b" in result.stdout) == (0, False)


def test_a_third_key_is_refused_and_the_two_are_named(
    device: Device, stores: DeviceStores, key_file: Path, tmp_path: Path
) -> None:
    added(device, "d-1", key_file)
    second, third = (
        jwk_file(tmp_path / f"{number}.jwk", DeviceKey.generate()) for number in (2, 3)
    )
    device("rotate", "d-1", "--public-key", str(second))

    result = device("rotate", "d-1", "--public-key", str(third))

    kids = [key["kid"] for key in keys_of(stores)]
    assert (result.exit_code, len(kids)) == (1, 2)
    assert ", ".join(kids) in result.stderr


def test_adding_the_same_key_again_changes_nothing(
    device: Device, stores: DeviceStores, key_file: Path
) -> None:
    added(device, "d-1", key_file)

    result = device("rotate", "d-1", "--public-key", str(key_file))

    assert (result.exit_code, len(keys_of(stores))) == (0, 1)


@pytest.mark.parametrize("kid", ["nothing", "last"])
def test_neither_the_last_key_nor_one_that_is_not_there_is_removed(
    device: Device, stores: DeviceStores, key_file: Path, kid: str
) -> None:
    added(device, "d-1", key_file)
    last = json.loads(key_file.read_text())["kid"]

    result = device("rotate", "d-1", "--remove", last if kid == "last" else kid)

    assert (result.exit_code, len(keys_of(stores))) == (1, 1)


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


@pytest.mark.parametrize("command", [("show",), ("rate-limit", "--clear"), ("quarantine",)])
def test_the_beginning_of_an_id_is_enough(
    device: Device, key_file: Path, command: tuple[str, ...]
) -> None:
    added(device, "valve-north-1", key_file)

    result = device(command[0], "valve-n", *command[1:])

    assert (result.exit_code, "valve-north-1" in result.stdout) == (0, True)


@pytest.mark.parametrize("verb", ["show", "quarantine"])
def test_a_beginning_that_several_ids_have_is_an_error_that_names_them(
    device: Device, key_file: Path, verb: str
) -> None:
    for name in ("valve-1", "valve-2"):
        added(device, name, key_file)

    result = device(verb, "valve")

    assert result.exit_code == 1
    assert result.stderr == (
        "error: several ids begin with 'valve': valve-1, valve-2; give more of one\n"
    )


def test_a_device_is_revoked_by_its_whole_id_alone(device: Device, key_file: Path) -> None:
    added(device, "valve-1", key_file)

    result = device("revoke", "valve")

    assert (result.exit_code, "valve" in result.stderr) == (1, True), result.stderr
