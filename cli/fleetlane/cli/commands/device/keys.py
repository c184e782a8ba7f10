"""Private keys of the devices that this machine plays: one file a device, for its user alone."""

import json
from pathlib import Path

from clients.device_api import DeviceKey
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.names import checked_device_id


class NoDeviceKeyError(FleetlaneError):
    """This machine holds no private key of the device."""

    reason = "no_device_key"
    device_id: str
    path: Path
    sentence = (
        "there is no key of device {device_id} in {path}:"
        " make one with ./fleetlane device add {device_id}"
    )


class DeviceKeys:
    """One platform's keys below a data folder, as JWKs; device ids are checked."""

    def __init__(self, data: Path, stage: str | None = None) -> None:
        self._folder = data / ("devices" if stage is None else f"devices-{stage}")

    def path(self, device_id: str) -> Path:
        """The device's file; raises ``BadNameError`` where the id is none."""
        return self._folder / f"{checked_device_id(device_id)}.json"

    def write(self, device_id: str, key: DeviceKey) -> Path:
        """Keep a key, over one that was there. The file was never readable by anyone else."""
        path = self.path(device_id)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.touch(mode=0o600, exist_ok=False)
        path.write_text(json.dumps(key.private_jwk, indent=2) + "\n")
        return path

    def read(self, device_id: str) -> DeviceKey:
        """The device's key.

        Raises:
            NoDeviceKeyError: There is none, or the file holds something else.
        """
        path = self.path(device_id)
        try:
            return DeviceKey.from_private_jwk(json.loads(path.read_text()))
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            raise NoDeviceKeyError(device_id, path) from None
