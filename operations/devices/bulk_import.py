"""Public keys as makers provide them, PEM or JWK; and importing devices from a CSV file."""

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import batched
from pathlib import Path
from typing import Any, Final, Protocol

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from jwt.algorithms import ECAlgorithm, OKPAlgorithm

from clients.device_api import thumbprint
from clients.devices.ed25519_points import problem_of_ed25519
from clients.devices.registry import BadDeviceError, RegisteredDevice
from fleetlane.events.errors import FleetlaneError

_MEMBERS = {"EC": ("crv", "kty", "x", "y"), "OKP": ("crv", "kty", "x")}
_KID_CHARS_MAX = 128
_TEXT_CHARS_MAX = 4_096


class BadPublicKeyError(FleetlaneError):
    """This is not a public key of an allowed kind."""

    problem: str
    sentence = "the public key {problem}"


def public_jwk(text: str) -> dict[str, str]:
    """Read a key on P-256 or Ed25519, whose point is checked.

    Its ``kid`` is the JWK's own, or the key's thumbprint (RFC 7638). Raises ``BadPublicKeyError``,
    also for a private one, which must not leave its device.
    """
    if len(text) > _TEXT_CHARS_MAX:
        raise BadPublicKeyError(f"has {len(text)} characters; the limit is {_TEXT_CHARS_MAX}")
    given = _from_pem(text) if "-----BEGIN" in text else _from_json(text)
    kty = str(given.get("kty"))
    if kty not in _MEMBERS:
        raise BadPublicKeyError(f"is of kind {kty[:80]!r}; allowed: EC (P-256), OKP (Ed25519)")
    members = {name: given.get(name) for name in _MEMBERS[kty]}
    kid = given.get("kid", thumbprint(members))
    if not isinstance(kid, str) or not 0 < len(kid) <= _KID_CHARS_MAX:
        raise BadPublicKeyError(f"has a `kid` that is no text of 1 to {_KID_CHARS_MAX} characters")
    curve = _curve_of(members)
    if curve not in ("P-256", "Ed25519"):
        raise BadPublicKeyError("is on another curve; allowed: P-256, Ed25519")
    problem = problem_of_ed25519(str(members["x"])) if curve == "Ed25519" else None
    if problem is not None:
        raise BadPublicKeyError(problem)
    return {name: str(value) for name, value in members.items()} | {"kid": kid}


def _from_pem(text: str) -> dict[str, Any]:
    if "PRIVATE KEY" in text:
        raise BadPublicKeyError("is a private one: it must not leave its device")
    try:
        key = load_pem_public_key(text.encode())
    except (ValueError, UnsupportedAlgorithm):
        raise BadPublicKeyError("cannot be read as PEM") from None
    match key:
        case EllipticCurvePublicKey() if isinstance(key.curve, SECP256R1):
            return dict(ECAlgorithm.to_jwk(key, as_dict=True))
        case Ed25519PublicKey():
            return dict(OKPAlgorithm.to_jwk(key, as_dict=True))
        case _:
            raise BadPublicKeyError("is of another kind; allowed: EC (P-256), Ed25519")


def _from_json(text: str) -> dict[str, Any]:
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        raise BadPublicKeyError("is neither PEM nor a JWK (JSON)") from None
    if not isinstance(read, dict):
        raise BadPublicKeyError("is no JWK: it is no JSON object")
    if "d" in read:
        raise BadPublicKeyError("is a private one: it must not leave its device")
    return read


def _curve_of(members: dict[str, Any]) -> str:
    """The curve, once the key is seen to be a point on it."""
    if not all(isinstance(value, str) for value in members.values()):
        raise BadPublicKeyError(f"lacks one of its members {', '.join(members)}")
    try:
        jwt.PyJWK(members)
    except (jwt.PyJWTError, ValueError):
        raise BadPublicKeyError(f"is no point on {members['crv'][:80]!r}") from None
    return str(members["crv"])


_REQUIRED: Final = ("device_id", "device_type", "public_key")
_COLUMNS: Final = (*_REQUIRED, "gateway_id")
_ATTRIBUTE: Final = "attribute."
_AT_ONCE: Final = 500


class BadDeviceFileError(FleetlaneError):
    """A file of devices cannot be imported. Nothing of it was registered."""

    path: Path
    problem: str
    sentence = "{path}: {problem}; nothing was registered"


class ImportRegistry(Protocol):
    """Where devices are looked up, or found to be none, and registered."""

    def find_all(self, device_ids: Iterator[str]) -> Mapping[str, RegisteredDevice]: ...

    def register_all(self, devices: Sequence[RegisteredDevice]) -> None: ...


class DeviceImport:
    """One file and the registry that it is imported into.

    Importing the same file again registers what is missing and changes nothing else, so an
    interrupted import is simply repeated. One registered differently is a problem, and stays.
    """

    def __init__(self, path: Path, registry: ImportRegistry, *, now_ms: int) -> None:
        self._path, self._registry, self._now_ms = path, registry, now_ms

    def problems(self, on_line: Callable[[int], None]) -> Iterator[str]:
        """Check the whole file, and say what is wrong with which line; the header's number is 1.

        ``on_line`` gets the number of the last line checked. Raises ``BadDeviceFileError`` where
        the file cannot be read or has wrong columns, and as ``find_all`` of the registry.
        """
        seen: dict[str, int] = {}
        for chunk in batched(self._lines(), _AT_ONCE, strict=False):
            there = self._registry.find_all(
                device.device_id for _, device in chunk if isinstance(device, RegisteredDevice)
            )
            for line, one in chunk:
                found = [one] if isinstance(one, str) else _conflicts(line, one, there, seen)
                yield from (f"line {line}: {problem}" for problem in found)
            on_line(chunk[-1][0])

    def register(self, on_line: Callable[[int], None]) -> tuple[int, int]:
        """Register what is missing, in the file's order. Only after ``problems`` found none.

        Gives how many devices were registered, and how many already were, identically.
        """
        registered = unchanged = 0
        for chunk in batched(self._lines(), _AT_ONCE, strict=False):
            devices = [device for _, device in chunk if isinstance(device, RegisteredDevice)]
            there = self._registry.find_all(device.device_id for device in devices)
            new = [device for device in devices if device.device_id not in there]
            self._registry.register_all(new)
            registered += len(new)
            unchanged += len(devices) - len(new)
            on_line(chunk[-1][0])
        return registered, unchanged

    def _lines(self) -> Iterator[tuple[int, RegisteredDevice | str]]:
        """Each line's number, and its device, or what is wrong with it."""
        try:
            with self._path.open(encoding="utf-8-sig", newline="") as file:
                reader = csv.DictReader(file, restkey="", strict=True)
                self._check_columns(reader.fieldnames or ())
                for row in reader:
                    yield reader.line_num, self._device(row)
        except (OSError, UnicodeDecodeError, csv.Error) as problem:
            raise BadDeviceFileError(self._path, f"cannot be read: {problem}") from None

    def _check_columns(self, names: Sequence[str]) -> None:
        missing = [name for name in _REQUIRED if name not in names]
        known = (*_COLUMNS, *(name for name in names if name.startswith(_ATTRIBUTE)))
        unknown = [name for name in names if name not in known]
        if missing or unknown or len(set(names)) < len(names):
            given = ", ".join(names)[:200]
            wanted = f"{', '.join(_REQUIRED)} and, optionally, gateway_id, {_ATTRIBUTE}NAME"
            raise BadDeviceFileError(self._path, f"its columns are {given!r}; must be: {wanted}")

    def _device(self, row: Mapping[str, str | None]) -> RegisteredDevice | str:
        if "" in row or None in row.values():
            return "has more or fewer fields than the header"
        named = [name for name in row if name.startswith(_ATTRIBUTE)]
        try:
            return RegisteredDevice(
                device_id=row["device_id"] or "",
                device_type=row["device_type"] or "",
                keys=(public_jwk(row["public_key"] or ""),),
                gateway_id=row.get("gateway_id") or None,
                attributes={
                    one.removeprefix(_ATTRIBUTE): row[one] or "" for one in named if row[one]
                },
                registered_ms=self._now_ms,
            )
        except (BadDeviceError, BadPublicKeyError) as problem:
            return str(problem)


def _conflicts(
    line: int, device: RegisteredDevice, there: Mapping[str, RegisteredDevice], seen: dict[str, int]
) -> Iterator[str]:
    first = seen.setdefault(device.device_id, line)
    if first != line:
        yield f"device {device.device_id} is already in line {first}"
    present = there.get(device.device_id)
    # The status, and keys added by rotation beside the file's, may differ.
    if present is not None and not (
        device.device_type == present.device_type
        and device.gateway_id == present.gateway_id
        and device.attributes == present.attributes
        and device.keys[0] in present.keys
    ):
        yield f"device {device.device_id} is registered differently: `fleetlane device show` it"
