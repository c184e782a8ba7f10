"""Who in the fleet behaves how: most devices as they should, a few in every other way."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Final

from clients.devices.registry import DeviceStatus
from local.simulator import behaviours
from local.simulator.behaviours import Behaviour


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """A way to behave, and the kind of device that does. ``status`` as in ``SimulatedDevice``.

    ``behind`` is how many devices it speaks for: it sends for them as it sends for itself.
    """

    name: str
    device_type: str
    behaviour: Behaviour
    per_thousand: float = 0
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
    Role(name=stream, device_type=_DEVICE_TYPES[stream], behaviour=behaviours.normal(stream))
    for stream in (
        *("thermo", "gps", "weather", "counters", "door", "thermo"),
        *("gps", "weather", "counters", "thermo", "gps", "vibration"),
    )
)


def _unusual(
    behaviour: Behaviour,
    device_type: str,
    per_thousand: float,
    *,
    name: str | None = None,
    status: DeviceStatus | None = DeviceStatus.ACTIVE,
    behind: int = 0,
) -> Role:
    return Role(
        name=name or behaviour.__name__.replace("_", "-"),
        device_type=device_type,
        behaviour=behaviour,
        per_thousand=per_thousand,
        status=status,
        behind=behind,
    )


UNUSUAL: Final = (
    _unusual(behaviours.herd, "press", 100),
    _unusual(behaviours.resends_with_key, "acme-t1", 10),
    _unusual(behaviours.resends_without_key, "tracker", 10),
    _unusual(behaviours.repeats_itself, "weather-station", 5),
    _unusual(behaviours.oversize, "press", 3),
    _unusual(behaviours.oversize_malformed, "press", 1),
    _unusual(behaviours.uploads, "press", 0.5),
    _unusual(behaviours.malformed, "generic", 5),
    _unusual(behaviours.slow_to_parse, "acme-v1", 2),
    _unusual(behaviours.endless_to_parse, "acme-v1", 0.5),
    _unusual(behaviours.wrong_clock, "acme-t1", 5),
    _unusual(behaviours.unknown_stream, "generic", 2),
    _unusual(behaviours.empty_body, "acme-t1", 5),
    _unusual(behaviours.late_backlog, "press", 5),
    _unusual(behaviours.quarantined, "tracker", 2, status=DeviceStatus.QUARANTINED),
    _unusual(behaviours.normal("gps"), "gateway", 2, name="gateway", behind=8),
    _unusual(behaviours.refused(403), "tracker", 5, name="revoked", status=DeviceStatus.REVOKED),
    _unusual(behaviours.refused(401), "tracker", 5, name="unregistered", status=None),
)


def roles(devices: int) -> Iterator[Role]:
    """A role for each device. Each unusual one is taken at least once, if there are enough."""
    return islice(_unending_roles(devices), devices)


def _unending_roles(devices: int) -> Iterator[Role]:
    yield from UNUSUAL
    for role in UNUSUAL:
        for _ in range(int(devices * role.per_thousand / 1000) - 1):
            yield role
    yield from cycle(_USUAL)
