"""Devices of one's own: their key files and their tokens."""

import stat
from pathlib import Path

import jwt
import pytest
from typer.testing import CliRunner

from clients.device_api import AUDIENCE, DeviceKey
from fleetlane.cli.commands.device.keys import DeviceKeys, NoDeviceKeyError
from fleetlane.cli.main import app
from fleetlane.events.names import BadNameError


def test_a_private_key_is_readable_by_its_user_alone(tmp_path: Path) -> None:
    path = DeviceKeys(tmp_path).write("d-1", DeviceKey.generate())

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_key_that_others_could_read_is_not_written_into_the_same_file(tmp_path: Path) -> None:
    keys = DeviceKeys(tmp_path)
    path = keys.write("d-1", DeviceKey.generate())
    path.chmod(0o644)

    keys.write("d-1", DeviceKey.generate())

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_key_is_read_as_it_was_written(tmp_path: Path) -> None:
    keys, key = DeviceKeys(tmp_path), DeviceKey.generate()

    keys.write("d-1", key)

    assert keys.read("d-1").private_jwk == key.private_jwk


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"d": 1}', '{"d": "AAAA"}'])
def test_a_damaged_key_file_counts_as_none(tmp_path: Path, content: str) -> None:
    keys = DeviceKeys(tmp_path)
    keys.write("d-1", DeviceKey.generate()).write_text(content)

    with pytest.raises(NoDeviceKeyError):
        keys.read("d-1")


@pytest.mark.parametrize("device_id", ["", "../up", "a/b", "a" * 65])
def test_a_device_id_never_leads_out_of_the_folder(tmp_path: Path, device_id: str) -> None:
    with pytest.raises(BadNameError):
        DeviceKeys(tmp_path).path(device_id)


def test_the_token_is_all_that_is_printed_and_its_key_signed_it(tmp_path: Path) -> None:
    key = DeviceKey.generate()
    DeviceKeys(tmp_path).write("d-1", key)

    result = CliRunner().invoke(app, ["device", "token", "d-1", "--data", str(tmp_path)])

    claims = jwt.decode(
        result.stdout.strip(), jwt.PyJWK(key.public_jwk), algorithms=["EdDSA"], audience=AUDIENCE
    )
    assert (claims["sub"], claims["exp"] - claims["iat"]) == ("d-1", 3600)


def test_a_token_for_a_stage_is_for_no_other(tmp_path: Path) -> None:
    key = DeviceKey.generate()
    DeviceKeys(tmp_path, "prod").write("d-1", key)

    asked = ["device", "token", "d-1", "--data", str(tmp_path), "--stage", "prod"]
    result = CliRunner().invoke(app, asked)

    claims = jwt.decode(result.stdout.strip(), options={"verify_signature": False})
    assert claims["aud"] == "fleetlane-prod"


def test_the_tokens_header_names_the_key(tmp_path: Path) -> None:
    key = DeviceKey.generate()
    DeviceKeys(tmp_path).write("d-1", key)

    result = CliRunner().invoke(app, ["device", "token", "d-1", "--data", str(tmp_path)])

    assert jwt.get_unverified_header(result.stdout.strip())["kid"] == key.public_jwk["kid"]


def test_without_a_key_one_line_says_how_to_make_one(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["device", "token", "d-1", "--data", str(tmp_path)])

    assert (result.exit_code, "./fleetlane device add d-1" in result.stderr) == (1, True)


def test_a_public_key_holds_no_private_part() -> None:
    assert "d" not in DeviceKey.generate().public_jwk


def test_a_private_key_of_another_kind_is_not_taken_for_one_of_ours() -> None:
    other = {"kty": "EC", "crv": "P-256", "d": "A" * 43}

    with pytest.raises(ValueError, match="no Ed25519 key"):
        DeviceKey.from_private_jwk(other)


def test_a_keys_name_is_its_rfc_7638_thumbprint() -> None:
    key = DeviceKey.from_private_jwk({"d": "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"})

    # of RFC 8037, A.3
    # pragma: allowlist nextline secret
    assert key.kid == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
