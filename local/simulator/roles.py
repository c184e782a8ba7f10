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


def _usual(stream: str, device_type: str) -> Role:
    return Role(name=stream, device_type=device_type, behaviour=behaviours.normal(stream))


_THERMOMETER: Final = _usual("thermo", "acme-t1")
_TRACKER: Final = _usual("gps", "tracker")
_STATION: Final = _usual("weather", "weather-station")
_MACHINE: Final = _usual("counters", "press")
_DOOR: Final = _usual("door", "door-lock")
_ACCELEROMETER: Final = _usual("vibration", "acme-v1")

_USUAL: Final = (
    _THERMOMETER, _TRACKER, _STATION, _MACHINE, _DOOR, _THERMOMETER,
    _TRACKER, _STATION, _MACHINE, _THERMOMETER, _TRACKER, _ACCELEROMETER,
)  # fmt: skip


def _unusual(
    behaviour: Behaviour,
    device_type: str,
    per_thousand: float,
    *,
    status: DeviceStatus = DeviceStatus.ACTIVE,
) -> Role:
    return Role(
        name=behaviour.__name__.replace("_", "-"),
        device_type=device_type,
        behaviour=behaviour,
        per_thousand=per_thousand,
        status=status,
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
    Role(
        name="gateway",
        device_type="gateway",
        behaviour=behaviours.normal("gps"),
        per_thousand=2,
        behind=8,
    ),
    Role(
        name="revoked",
        device_type="tracker",
        behaviour=behaviours.refused(403),
        per_thousand=5,
        status=DeviceStatus.REVOKED,
    ),
    Role(
        name="unregistered",
        device_type="tracker",
        behaviour=behaviours.refused(401),
        per_thousand=5,
        status=None,
    ),
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
