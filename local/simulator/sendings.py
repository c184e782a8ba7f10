"""The plan of a fleet, and who sends what: each device with its token and its messages."""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Final

from local.simulator.batches import Batch, RelayedMessage
from local.simulator.behaviours import Circumstances
from local.simulator.device import SimulatedDevice, signing_key
from local.simulator.messages import Outgoing
from local.simulator.roles import Role, roles
from local.simulator.sender import token_of

_FIRMWARES: Final = ("1.4.2", "2.0.0", "2.1.0")
_KEY_BYTES: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetPlan:
    """Equal plans make equal fleets, and equal messages save for the time in them.

    ``seconds`` is the time over which the messages are spread; ``None``: as fast as possible.
    ``messages_per_device`` holds for most devices; a few have only one to send. ``patience_s`` is
    how long a device keeps trying one message before the simulation gives up on it; firmware
    never would.
    """

    devices: int = 2_000
    messages_per_device: int = 5
    seed: int = 1
    seconds: float | None = None
    connections: int = 64
    patience_s: float = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """A device, its token, and what is in its memory: messages, or a gateway's batches.

    ``behind`` are the devices that it speaks for.
    """

    device: SimulatedDevice
    token: str
    parcels: tuple[Outgoing | Batch, ...]
    behind: tuple[SimulatedDevice, ...] = ()

    @property
    def devices(self) -> tuple[SimulatedDevice, ...]:
        return (self.device, *self.behind)

    @property
    def messages(self) -> int:
        """How many messages there are in all parcels."""
        return sum(len(one.relayed) if isinstance(one, Batch) else 1 for one in self.parcels)


def sendings_of(plan: FleetPlan, *, now_ms: int) -> Iterator[Sending]:
    """Make a plan's fleet; the devices behind gateways come on top of those that it counts."""
    random = Random(plan.seed)  # noqa: S311 - a simulation, to be repeated
    for number, role in enumerate(roles(plan.devices)):
        device = _device(role, f"{role.name}-{plan.seed}-{number:05d}", number, random)
        at = Circumstances(random=random, now_ms=now_ms, messages=plan.messages_per_device)
        token = token_of(device, now_ms=now_ms)
        if role.behind:
            yield _gateway(device, token, role, at)
        else:
            yield Sending(device=device, token=token, parcels=tuple(role.behaviour(at)))


def _gateway(device: SimulatedDevice, token: str, role: Role, at: Circumstances) -> Sending:
    """A gateway sends, at each time, one message of its own and one of each device behind it."""
    behind = tuple(
        _device(role, f"{device.device_id}-{place}", place, at.random, gateway=device)
        for place in range(role.behind)
    )
    messages = [[(one, message) for message in role.behaviour(at)] for one in (device, *behind)]
    batches = tuple(
        Batch(relayed=tuple(_relayed(one, message, at.random) for one, message in together))
        for together in zip(*messages, strict=True)
    )
    return Sending(device=device, token=token, parcels=batches, behind=behind)


def _relayed(device: SimulatedDevice, message: Outgoing, random: Random) -> RelayedMessage:
    return RelayedMessage(device=device, message=message, key=random.randbytes(_KEY_BYTES).hex())


def _device(
    role: Role,
    device_id: str,
    number: int,
    random: Random,
    *,
    gateway: SimulatedDevice | None = None,
) -> SimulatedDevice:
    return SimulatedDevice(
        device_id=device_id,
        device_type=role.device_type,
        firmware=_FIRMWARES[number % len(_FIRMWARES)],
        status=role.status,
        key=signing_key(number, random),
        gateway_id=None if gateway is None else gateway.device_id,
    )
