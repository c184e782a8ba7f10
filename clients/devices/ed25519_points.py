"""Ed25519 public keys that prove nothing, or are no keys: RFC 8032's curve, by its equation."""

import binascii
from base64 import urlsafe_b64decode
from typing import Final

_P: Final = 2**255 - 19
_D: Final = -121665 * pow(121666, -1, _P) % _P
_ORDER_8: Final = int.from_bytes(
    bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little"
)
_SMALL_ORDER: Final = frozenset({0, 1, _P - 1, _ORDER_8, _P - _ORDER_8})
"""The y of all eight points of order 1, 2, 4 and 8: anybody can sign for them, without a key."""
_KEY_BYTES: Final = 32


def problem_of_ed25519(x: str) -> str | None:
    """Why a JWK's ``x`` must not be a device's key; ``None`` where it may.

    Libraries don't look: with a key of small order one signature in eight is right for anybody.
    """
    try:
        encoded = urlsafe_b64decode(x + "=" * (-len(x) % 4))
    except (binascii.Error, ValueError):
        return "is not Base64"
    if len(encoded) != _KEY_BYTES:
        return f"has {len(encoded)} bytes; allowed: {_KEY_BYTES}"
    y = int.from_bytes(encoded, "little") % 2**255
    if y >= _P:
        return "is not encoded canonically"
    if y in _SMALL_ORDER:
        return "is of small order: whoever wants can sign for it"
    x_squared = (y * y - 1) * pow(_D * y * y + 1, -1, _P)
    return None if pow(x_squared, (_P - 1) // 2, _P) == 1 else "is no point on 'Ed25519'"
