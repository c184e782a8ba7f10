"""For which devices a sender may send: for itself, and for those bound to it as a gateway."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from clients.devices.bound_devices import CachedBoundDevices
from clients.devices.registry import DeviceStatus, RegisteredDevice, RegistryUnavailableError
from fleetlane.events.attributes import attributes_text
from fleetlane.events.errors import FleetlaneError
from lambdas.http.device_request import Sender
from lambdas.http.rate_limiter import RateLimiter, RevokedDeviceError, TooManyMessagesError


class NotItsGatewayError(FleetlaneError):
    """A device sent in the name of one that is not bound to it, or that there is not."""

    sender_id: str
    device_id: str
    sentence = "device {sender_id} may not send for device {device_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Senders:
    """The devices that one request may send for. ``not_asked``: why of others nothing is known."""

    sender: Sender
    bound: Mapping[str, RegisteredDevice]
    not_asked: FleetlaneError | None = None

    @classmethod
    def asked(
        cls,
        sender: Sender,
        device_ids: frozenset[str],
        devices: CachedBoundDevices,
        rate_limiter: RateLimiter,
        *,
        now_ms: int,
    ) -> Self:
        """Look up which of these devices are bound to the sender; its own id is not looked up.

        Each that is not counts as a message of the sender: nobody else pays for its look-up. A
        sender that is beyond its rate limit is refused before the registry is asked.
        """
        others = device_ids - {sender.device_id}
        if not others:
            return cls(sender=sender, bound={})
        try:
            rate_limiter.check(sender.device_id, now_ms=now_ms)
            bound = devices.bound_to(sender.device_id, others)
        except (RegistryUnavailableError, RevokedDeviceError, TooManyMessagesError) as problem:
            return cls(sender=sender, bound={}, not_asked=problem)
        rate_limiter.charge(sender.device_id, len(others - bound.keys()), now_ms=now_ms)
        return cls(sender=sender, bound=bound)

    def of(self, device_id: str) -> Sender:
        """Who a message is from, where the sender may bring it.

        Raises:
            NotItsGatewayError: It may not.
            RevokedDeviceError: The device is revoked.
            FleetlaneError: Whether it may was not asked: ``not_asked``.
        """
        if device_id == self.sender.device_id:
            return self.sender
        if self.not_asked is not None:
            raise self.not_asked
        device = self.bound.get(device_id)
        if device is None:
            raise NotItsGatewayError(self.sender.device_id, device_id)
        if device.status is DeviceStatus.REVOKED:
            raise RevokedDeviceError(device_id)
        return Sender(
            device_id=device_id,
            device_type=device.device_type,
            attributes=attributes_text(device.attributes),
            is_quarantined=device.status is DeviceStatus.QUARANTINED or self.sender.is_quarantined,
            registered_ms=device.registered_ms,
        )

    def via(self, device_id: str) -> str | None:
        """The gateway that speaks for a device; ``None`` where it speaks for itself."""
        return None if device_id == self.sender.device_id else self.sender.device_id
