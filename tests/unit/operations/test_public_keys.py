import json
from itertools import count
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from hypothesis import given
from hypothesis import strategies as st

from clients.device_api import DeviceKey
from operations.devices.bulk_import import BadPublicKeyError, public_jwk

ED25519 = DeviceKey.generate()
P256 = DeviceKey.of(ec.derive_private_key(7, ec.SECP256R1()))


def pem(public: Any) -> str:
    return str(public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode())


def private_pem(private: Any) -> str:
    return str(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode())


@pytest.mark.parametrize("jwk", [ED25519.public_jwk, P256.public_jwk], ids=["ed25519", "p-256"])
def test_a_jwk_is_read_as_it_is(jwk: dict[str, str]) -> None:
    assert public_jwk(json.dumps(jwk)) == jwk


@pytest.mark.parametrize(
    ("public", "jwk"),
    [
        (ED25519.private.public_key(), ED25519.public_jwk),
        (P256.private.public_key(), P256.public_jwk),
    ],
    ids=["ed25519", "p-256"],
)
def test_pem_is_read_and_named_by_its_thumbprint(public: Any, jwk: dict[str, str]) -> None:
    assert public_jwk(pem(public)) == jwk


def test_a_jwk_without_a_name_is_named_by_its_thumbprint() -> None:
    unnamed = {name: value for name, value in P256.public_jwk.items() if name != "kid"}

    assert public_jwk(json.dumps(unnamed)) == P256.public_jwk


def test_what_a_jwk_says_besides_is_left_out() -> None:
    chatty = P256.public_jwk | {"alg": "HS256", "use": "sig", "x5u": "http://127.0.0.1/"}

    assert public_jwk(json.dumps(chatty)) == P256.public_jwk


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (json.dumps(ED25519.private_jwk), "must not leave its device"),
        (private_pem(ED25519.private), "must not leave its device"),
        (pem(ec.generate_private_key(ec.SECP384R1()).public_key()), "of another kind"),
        (pem(ed448.Ed448PrivateKey.generate().public_key()), "of another kind"),
        (pem(rsa.generate_private_key(65537, 2048).public_key()), "of another kind"),
        ("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----", "cannot be read as PEM"),
        (json.dumps(P256.public_jwk | {"y": P256.public_jwk["x"]}), "no point on 'P-256'"),
        (json.dumps(P256.public_jwk | {"crv": "P-384"}), "no point on 'P-384'"),
        (json.dumps({"kty": "EC", "crv": "P-256", "x": "AA"}), "lacks one of its members"),
        (json.dumps(P256.public_jwk | {"kid": ""}), "has a `kid`"),
        (json.dumps(P256.public_jwk | {"kid": "k" * 129}), "has a `kid`"),
        ('{"kty": "oct", "k": "c2VjcmV0"}', "is of kind 'oct'"),
        ("[]", "no JSON object"),
        ("", "neither PEM nor a JWK"),
        (" " * 4_097, "the limit is 4096"),
    ],
    ids=count(),  # keys differ from one process to the next
)
def test_what_is_no_devices_public_key_is_refused(text: str, said: str) -> None:
    with pytest.raises(BadPublicKeyError, match=said):
        public_jwk(text)


def test_a_refusal_shows_nothing_of_a_private_key() -> None:
    with pytest.raises(BadPublicKeyError) as refused:
        public_jwk(json.dumps(ED25519.private_jwk))

    assert ED25519.private_jwk["d"] not in str(refused.value)


@given(
    st.text(max_size=100)
    | st.dictionaries(
        st.sampled_from(["kty", "crv", "x", "y", "kid"]),
        st.sampled_from(["EC", "OKP", "P-256", "Ed25519", "AAAA"]) | st.integers() | st.none(),
    ).map(json.dumps)
)
def test_any_text_is_refused_and_nothing_breaks(text: str) -> None:
    with pytest.raises(BadPublicKeyError):
        public_jwk(text)


def test_an_ed25519_key_that_was_never_ours_is_taken() -> None:
    public = ed25519.Ed25519PrivateKey.generate().public_key()

    assert public_jwk(pem(public))["crv"] == "Ed25519"


@pytest.mark.parametrize("x", ["A" * 43, "AQ" + "A" * 41, "7f" + "_" * 40 + "8"])
def test_an_ed25519_key_that_anybody_can_sign_for_is_refused(x: str) -> None:
    weak = {"kty": "OKP", "crv": "Ed25519", "x": x}

    with pytest.raises(BadPublicKeyError, match=r"small order|not encoded canonically"):
        public_jwk(json.dumps(weak))


def test_a_point_that_is_not_on_p_256_is_refused() -> None:
    off = P256.public_jwk | {"y": P256.public_jwk["x"]}

    with pytest.raises(BadPublicKeyError, match="no point on 'P-256'"):
        public_jwk(json.dumps(off))
