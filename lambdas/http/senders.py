"""For which devices a sender may send: for itself, and for those bound to it as a gateway."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from clients.devices.bound_devices import CachedBoundDevices
from clients.devices.registry import DeviceStatus, RegisteredDevice, RegistryUnavailableError
from fleetlane.events.errors import FleetlaneError
from lambdas.http.device_request import Sender
from lambdas.http.rate_limiter import RevokedDeviceError


class NotItsGatewayError(FleetlaneError):
    """A device sent in the name of one that is not bound to it, or that there is not."""

    sender_id: str
    device_id: str
    sentence = "device {sender_id} may not send for device {device_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Senders:
    """The devices that one request may send for. ``outage``: of other devices nothing is known."""

    sender: Sender
    bound: Mapping[str, RegisteredDevice]
    outage: RegistryUnavailableError | None = None

    @classmethod
    def asked(cls, sender: Sender, device_ids: frozenset[str], devices: CachedBoundDevices) -> Self:
        """Look up which of these devices are bound to the sender; its own id is not looked up."""
        others = device_ids - {sender.device_id}
        try:
            bound = devices.bound_to(sender.device_id, others) if others else {}
        except RegistryUnavailableError as outage:
            return cls(sender=sender, bound={}, outage=outage)
        return cls(sender=sender, bound=bound)

    def of(self, device_id: str) -> Sender:
        """Who a message is from, where the sender may bring it.

        Raises:
            NotItsGatewayError: It may not.
            RevokedDeviceError: The device is revoked.
            RegistryUnavailableError: Whether it may is not known.
        """
        if device_id == self.sender.device_id:
            return self.sender
        if self.outage is not None:
            raise self.outage
        device = self.bound.get(device_id)
        if device is None:
            raise NotItsGatewayError(self.sender.device_id, device_id)
        if device.status is DeviceStatus.REVOKED:
            raise RevokedDeviceError(device_id)
        is_quarantined = device.status is DeviceStatus.QUARANTINED or self.sender.is_quarantined
        return Sender(
            device_id=device_id, device_type=device.device_type, is_quarantined=is_quarantined
        )

    def via(self, device_id: str) -> str | None:
        """The gateway that speaks for a device; ``None`` where it speaks for itself."""
        return None if device_id == self.sender.device_id else self.sender.device_id
