import base64

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from clients.devices.ed25519_points import problem_of_ed25519

P = 2**255 - 19
SIGN = 1 << 255
ORDER_8 = bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a")


def text(encoded: bytes) -> str:
    return base64.urlsafe_b64encode(encoded).rstrip(b"=").decode()


def key(number: int) -> str:
    return text(number.to_bytes(32, "little"))


@pytest.mark.parametrize(
    ("x", "problem"),
    [
        (key(0), "small order"),
        (key(SIGN), "small order"),
        (key(1), "small order"),
        (key(1 + SIGN), "small order"),
        (key(P - 1), "small order"),
        (text(ORDER_8), "small order"),
        (key(int.from_bytes(ORDER_8, "little") + SIGN), "small order"),
        (key(P - int.from_bytes(ORDER_8, "little")), "small order"),
        (key(P), "not encoded canonically"),
        (key(P + 1), "not encoded canonically"),
        (key(2**255 - 1), "not encoded canonically"),
        (key(2), "no point"),
        (text(bytes(31)), "31 bytes; allowed: 32"),
        ("é", "not Base64"),
    ],
)
def test_a_key_that_proves_nothing_is_told_apart(x: str, problem: str) -> None:
    assert problem in (problem_of_ed25519(x) or "")


@given(st.binary(min_size=32, max_size=32))
def test_every_key_that_a_device_makes_is_allowed(seed: bytes) -> None:
    public = Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()

    assert problem_of_ed25519(text(public)) is None
