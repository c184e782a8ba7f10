"""Private keys of the devices that this machine plays: one file a device, for its user alone."""

import json
import time
from pathlib import Path

from clients.device_api import DeviceKey
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.names import audience_of, checked_device_id, the_id
from operations.endpoints import LOCAL_STAGE


class NoDeviceKeyError(FleetlaneError):
    """This machine holds no private key of the device."""

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
        self._audience = audience_of(stage or LOCAL_STAGE)

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
        """The device's key; raises ``NoDeviceKeyError`` where there is no file, or no key in it."""
        path = self.path(device_id)
        try:
            return DeviceKey.from_private_jwk(json.loads(path.read_text()))
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            raise NoDeviceKeyError(device_id, path) from None

    def token(self, device_id: str, *, lifetime_s: int) -> str:
        """A token of the device's for the platform's HTTP API; raises as ``read``.

        The beginning of an id is enough where only one of the keys' has it.
        """
        kept = (path.stem for path in self._folder.glob("*.json"))
        device_id = the_id(checked_device_id(device_id), kept) or device_id
        key, now_s = self.read(device_id), int(time.time())
        return key.token(device_id, now_s=now_s, lifetime_s=lifetime_s, audience=self._audience)
