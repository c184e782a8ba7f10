import pickle

import pytest

from clients.devices.registry import BadDeviceError, DeviceStatus, RegisteredDevice

EC = {"kid": "a", "kty": "EC", "crv": "P-256", "x": "eA", "y": "eQ"}
OKP = {"kid": "b", "kty": "OKP", "crv": "Ed25519", "x": "eA"}


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ((EC, OKP, EC | {"kid": "c"}), "3 keys; at most 2"),
        ((EC, OKP | {"kid": "a"}), "two keys named 'a'"),
        (({"kty": "EC", "crv": "P-256"},), "without a `kid`"),
        ((EC | {"crv": "P-384"},), "key 'a' is neither EC on P-256 nor OKP on Ed25519"),
        (({"kid": "s", "kty": "oct", "k": "c2VjcmV0"},), "key 's' is neither"),
        ((OKP | {"d": "c2VjcmV0"},), "key 'b' holds its private part"),
    ],
)
def test_keys_that_are_not_allowed_are_refused(
    keys: tuple[dict[str, str], ...], problem: str
) -> None:
    with pytest.raises(BadDeviceError, match=problem):
        _device(keys=keys)


@pytest.mark.parametrize("device_id", ["", "a b", "a/b", "x" * 65])
def test_an_id_outside_the_pattern_is_refused(device_id: str) -> None:
    with pytest.raises(BadDeviceError, match="does not match"):
        _device(device_id=device_id)


def test_a_device_type_outside_the_pattern_is_refused() -> None:
    with pytest.raises(BadDeviceError, match="device type 'Thermo'"):
        _device(device_type="Thermo")


def test_a_key_is_found_by_its_id_alone() -> None:
    device = _device(keys=(EC, OKP))

    assert (device.key("b"), device.key("c")) == (OKP, None)


def test_a_refusal_crosses_processes() -> None:
    refusal = BadDeviceError("d-1", "has 3 keys")

    assert str(pickle.loads(pickle.dumps(refusal))) == str(refusal)  # noqa: S301 - our own bytes


def _device(
    *,
    device_id: str = "d-1",
    device_type: str = "acme-thermo",
    keys: tuple[dict[str, str], ...] = (EC,),
) -> RegisteredDevice:
    return RegisteredDevice(
        device_id=device_id,
        device_type=device_type,
        status=DeviceStatus.ACTIVE,
        keys=keys,
        registered_ms=0,
    )
