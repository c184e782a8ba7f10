"""A device that can prove who it is."""

import time

import jwt
from cryptography.hazmat.primitives.asymmetric import ec

from clients.devices.registry import RegisteredDevice
from tests.unit.lambdas.fakes import FakeDevices

_KEY = ec.generate_private_key(ec.SECP256R1())
_JWK = jwt.algorithms.ECAlgorithm.to_jwk(_KEY.public_key(), as_dict=True) | {"kid": "first"}

DEVICES = FakeDevices(
    RegisteredDevice(device_id="d-1", device_type="gps", keys=(_JWK,), registered_ms=0)
)


def device_token() -> str:
    now_s = int(time.time())
    claims = {"sub": "d-1", "aud": "fleetlane", "iat": now_s, "exp": now_s + 3600}
    return jwt.encode(claims, _KEY, algorithm="ES256", headers={"kid": "first"})
