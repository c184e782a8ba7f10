"""Importing devices from a CSV file: all lines are checked before any device is registered."""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import batched
from pathlib import Path
from typing import Final, Protocol

from clients.devices.registry import BadDeviceError, RegisteredDevice
from fleetlane.events.errors import FleetlaneError
from operations.devices.public_keys import BadPublicKeyError, public_jwk

_REQUIRED: Final = ("device_id", "device_type", "public_key")
_COLUMNS: Final = (*_REQUIRED, "gateway_id")
_AT_ONCE: Final = 500


class BadDeviceFileError(FleetlaneError):
    """A file of devices cannot be imported. Nothing of it was registered."""

    reason = "bad_device_file"
    path: Path
    problem: str
    sentence = "{path}: {problem}; nothing was registered"


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """How many devices were registered, and how many already were, identically."""

    registered: int
    unchanged: int


class ImportRegistry(Protocol):
    """Where devices are looked up and registered."""

    def find_all(self, device_ids: Iterator[str]) -> Mapping[str, RegisteredDevice]: ...

    def register_all(self, devices: Sequence[RegisteredDevice]) -> None: ...


class DeviceImport:
    """One file and the registry that it is imported into.

    Importing the same file again registers what is missing and changes nothing else, so an
    interrupted import is simply repeated. A device that is registered differently is a problem;
    it is never overwritten.
    """

    def __init__(self, path: Path, registry: ImportRegistry, *, now_ms: int) -> None:
        self._path, self._registry, self._now_ms = path, registry, now_ms

    def problems(self, on_line: Callable[[int], None]) -> Iterator[str]:
        """Check the whole file, and say what is wrong with which line; the header's number is 1.

        ``on_line`` is called with the number of the last line checked.

        Raises:
            BadDeviceFileError: The file cannot be read, or its columns are wrong.
            RegistryUnavailableError: DynamoDB does not answer.
        """
        seen: dict[str, int] = {}
        for chunk in batched(self._lines(), _AT_ONCE, strict=False):
            there = self._registry.find_all(
                device.device_id for _, device in chunk if isinstance(device, RegisteredDevice)
            )
            for line, device in chunk:
                found = (
                    [device] if isinstance(device, str) else _conflicts(line, device, there, seen)
                )
                yield from (f"line {line}: {problem}" for problem in found)
            on_line(chunk[-1][0])

    def register(self, on_line: Callable[[int], None]) -> Imported:
        """Register what is missing, in the file's order. Only after ``problems`` found none.

        Raises:
            RegistryUnavailableError: DynamoDB does not answer; it can be repeated.
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
        return Imported(registered=registered, unchanged=unchanged)

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
        unknown = [name for name in names if name not in _COLUMNS]
        if missing or unknown or len(set(names)) < len(names):
            given = ", ".join(names)[:200]
            wanted = f"{', '.join(_REQUIRED)} and, optionally, gateway_id"
            raise BadDeviceFileError(
                self._path, f"its columns are {given!r}; they must be {wanted}"
            )

    def _device(self, row: Mapping[str, str | None]) -> RegisteredDevice | str:
        if "" in row or None in row.values():
            return "has more or fewer fields than the header"
        try:
            return RegisteredDevice(
                device_id=row["device_id"] or "",
                device_type=row["device_type"] or "",
                keys=(public_jwk(row["public_key"] or ""),),
                gateway_id=row.get("gateway_id") or None,
                registered_ms=self._now_ms,
            )
        except (BadDeviceError, BadPublicKeyError) as problem:
            return str(problem)


def _conflicts(
    line: int,
    device: RegisteredDevice,
    there: Mapping[str, RegisteredDevice],
    seen: dict[str, int],
) -> Iterator[str]:
    first = seen.setdefault(device.device_id, line)
    if first != line:
        yield f"device {device.device_id} is already in line {first}"
    present = there.get(device.device_id)
    if present is not None and not _is_same(device, present):
        yield f"device {device.device_id} is registered differently: `fleetlane device show` it"


def _is_same(device: RegisteredDevice, present: RegisteredDevice) -> bool:
    """The status, and keys added by rotation beside the file's, may differ."""
    return (device.device_type, device.gateway_id) == (
        present.device_type,
        present.gateway_id,
    ) and device.keys[0] in present.keys
