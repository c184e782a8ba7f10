"""The plan of a fleet: who behaves how, each device with its token and its messages."""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from itertools import chain, cycle, islice, repeat
from random import Random
from typing import Final

from clients.devices.registry import DeviceStatus
from local.simulator import behaviours
from local.simulator.behaviours import Behaviour, Circumstances
from local.simulator.device import Outgoing, SimulatedDevice, signing_key
from local.simulator.sender import Batch, token_of

_FIRMWARES: Final = ("1.4.2", "2.0.0", "2.1.0")


@dataclass(frozen=True, slots=True)
class Role:
    """A way to behave, and the kind of device that does. ``status`` as in ``SimulatedDevice``.

    ``behind`` is how many devices it speaks for: it sends for them as it sends for itself.
    """

    name: str
    behaviour: Behaviour
    device_type: str
    per_thousand: float = 0
    _: KW_ONLY
    status: DeviceStatus | None = DeviceStatus.ACTIVE
    behind: int = 0


_DEVICE_TYPES: Final = {
    "thermo": "acme-t1",
    "gps": "tracker",
    "weather": "weather-station",
    "counters": "press",
    "door": "door-lock",
    "vibration": "acme-v1",
}
"""The kind of device that sends to each stream."""

_USUAL: Final = tuple(
    Role(stream, behaviours.normal(stream), _DEVICE_TYPES[stream])
    for stream in (
        *("thermo", "gps", "weather", "counters", "door", "thermo"),
        *("gps", "weather", "counters", "thermo", "gps", "vibration"),
    )
)

UNUSUAL: Final = (
    Role("herd", behaviours.herd, "press", 100),
    Role("resends-with-key", behaviours.resends_with_key, "acme-t1", 10),
    Role("resends-without-key", behaviours.resends_without_key, "tracker", 10),
    Role("repeats-itself", behaviours.repeats_itself, "weather-station", 5),
    Role("oversize", behaviours.oversize, "press", 3),
    Role("oversize-malformed", behaviours.oversize_malformed, "press", 1),
    Role("uploads", behaviours.uploads, "press", 0.5),
    Role("malformed", behaviours.malformed, "generic", 5),
    Role("slow-to-parse", behaviours.slow_to_parse, "acme-v1", 2),
    Role("endless-to-parse", behaviours.endless_to_parse, "acme-v1", 0.5),
    Role("wrong-clock", behaviours.wrong_clock, "acme-t1", 5),
    Role("unknown-stream", behaviours.unknown_stream, "generic", 2),
    Role("empty-body", behaviours.empty_body, "acme-t1", 5),
    Role("late-backlog", behaviours.late_backlog, "press", 5),
    Role("quarantined", behaviours.quarantined, "tracker", 2, status=DeviceStatus.QUARANTINED),
    Role("gateway", behaviours.normal("gps", has_key=True), "gateway", 2, behind=8),
    Role("revoked", behaviours.refused(403), "tracker", 5, status=DeviceStatus.REVOKED),
    Role("unregistered", behaviours.refused(401), "tracker", 5, status=None),
)


def roles(devices: int) -> Iterator[Role]:
    """A role for each device. Each unusual one is taken at least once, if there are enough."""
    again = (repeat(role, int(devices * role.per_thousand / 1000) - 1) for role in UNUSUAL)
    return islice(chain(UNUSUAL, *again, cycle(_USUAL)), devices)


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetPlan:
    """Equal plans make equal fleets, and equal messages save for the time in them.

    ``seconds`` is the time over which the messages are spread; ``None``: as fast as possible.
    ``messages_per_device`` holds for most devices; a few have only one to send. ``patience_s`` is
    how long a device keeps trying one message before the simulation gives up on it; firmware
    never would. ``round_number`` counts the runs of one fleet: same devices, new messages.
    """

    devices: int = 2_000
    messages_per_device: int = 5
    seed: int = 1
    seconds: float | None = None
    patience_s: float = 120.0
    round_number: int = 0


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
        return sum(1 if isinstance(one, Outgoing) else len(one) for one in self.parcels)


def sendings_of(plan: FleetPlan, *, now_ms: int) -> Iterator[Sending]:
    """Make a plan's fleet; the devices behind gateways come on top of those that it counts."""
    keys = Random(plan.seed)  # noqa: S311 - a simulation, to be repeated
    random = Random(f"{plan.seed}/{plan.round_number}")  # noqa: S311
    for number, role in enumerate(roles(plan.devices)):
        device = _device(role, f"{role.name}-{plan.seed}-{number:05d}", number, keys)
        at = Circumstances(random=random, now_ms=now_ms, messages=plan.messages_per_device)
        token = token_of(device, now_ms=now_ms)
        if role.behind:
            yield _gateway(device, token, role, at, keys)
        else:
            yield Sending(device=device, token=token, parcels=tuple(role.behaviour(at)))


def _gateway(
    device: SimulatedDevice, token: str, role: Role, at: Circumstances, keys: Random
) -> Sending:
    """A gateway sends, at each time, one message of its own and one of each device behind it."""
    behind = tuple(
        _device(role, f"{device.device_id}-{place}", place, keys, gateway_id=device.device_id)
        for place in range(role.behind)
    )
    each = [[(one, message) for message in role.behaviour(at)] for one in (device, *behind)]
    batches = tuple(zip(*each, strict=True))
    return Sending(device=device, token=token, parcels=batches, behind=behind)


def _device(
    role: Role, device_id: str, number: int, keys: Random, *, gateway_id: str | None = None
) -> SimulatedDevice:
    return SimulatedDevice(
        device_id=device_id,
        device_type=role.device_type,
        firmware=_FIRMWARES[number % len(_FIRMWARES)],
        status=role.status,
        key=signing_key(number, keys),
        gateway_id=gateway_id,
    )
