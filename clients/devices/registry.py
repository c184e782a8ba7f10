"""The registry of devices: who may send, and with which keys. One DynamoDB item a device."""

import math
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from itertools import batched
from typing import Any, Final

from clients.aws import Table, asking
from fleetlane.events.attributes import BadAttributeError, checked_attributes
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.names import BadNameError, checked_device_id, checked_name

KEYS_MAX: Final = 2
_READ_AT_ONCE_MAX: Final = 100
_PAUSES_S_MAX: Final = (0, 0.05, 0.1, 0.2)
"""Before each time that many devices are asked for, until DynamoDB has deferred none of them."""

_CURVES: Final = {"EC": "P-256", "OKP": "Ed25519"}

type Jwk = Mapping[str, str]


class DeviceStatus(StrEnum):
    """How far a device is trusted: quarantined ones go to the bulk lane, revoked ones nowhere."""

    ACTIVE = "active"
    QUARANTINED = "quarantined"
    REVOKED = "revoked"


class RegistryUnavailableError(FleetlaneError):
    """DynamoDB does not answer, or not as it should. Trying again later may succeed."""

    problem: str
    sentence = "the device registry cannot be reached: {problem}"


class UnknownDeviceError(FleetlaneError):
    """There is no such device in the registry."""

    device_id: str
    sentence = "device {device_id} is not registered"


class BadDeviceError(FleetlaneError):
    """What is to be registered, or was, is no device."""

    device_id: str
    problem: str
    sentence = "device {device_id!r:.80}: {problem}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredDevice:
    """A device. ``keys`` are public JWKs (ES256 or EdDSA), each with a ``kid`` of its own.

    ``gateway_id`` is the device that may speak for it, ``attributes`` are what its events may take
    along (``fleetlane.events.attributes``). What is not allowed raises ``BadDeviceError``.
    """

    device_id: str
    device_type: str
    status: DeviceStatus = DeviceStatus.ACTIVE
    keys: tuple[Jwk, ...]
    gateway_id: str | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)
    registered_ms: int

    def __post_init__(self) -> None:
        try:
            checked_device_id(self.device_id)
            checked_device_id(self.device_id if self.gateway_id is None else self.gateway_id)
            checked_name(self.device_type, kind="device type")
            checked_attributes(self.attributes)
        except (BadNameError, BadAttributeError) as problem:
            raise BadDeviceError(self.device_id, str(problem)) from None
        problem_of_keys = _problem_of(self.keys)
        if problem_of_keys is not None:
            raise BadDeviceError(self.device_id, problem_of_keys)

    def key(self, kid: str) -> Jwk | None:
        """The public key that ``kid`` names; ``None`` where the device has none such."""
        return next((key for key in self.keys if key["kid"] == kid), None)


class DeviceRegistry:
    """Devices by id, in a table whose partition key is ``device_id``.

    Every method raises ``RegistryUnavailableError`` where DynamoDB does not answer.
    """

    def __init__(self, table: Table, *, pause: Callable[[float], None] = time.sleep) -> None:
        self._table, self._pause = table, pause

    def find(self, device_id: str) -> RegisteredDevice | None:
        """Look a device up, as last written; raises ``BadDeviceError`` for an item that is none."""
        with asking(RegistryUnavailableError):
            answer = self._table.get_item(Key={"device_id": device_id}, ConsistentRead=True)
        item = answer.get("Item")
        return None if item is None else device_from_item(item)

    def find_all(
        self, device_ids: Iterable[str], *, within_s: float = math.inf, skips_bad: bool = False
    ) -> Mapping[str, RegisteredDevice]:
        """Look many devices up, a hundred a call; raises as ``find``, or ``skips_bad`` items.

        Beyond ``within_s`` no further call is begun.
        """
        found, began_s = dict[str, RegisteredDevice](), time.monotonic()
        for some in batched(sorted(set(device_ids)), _READ_AT_ONCE_MAX, strict=False):
            keys = [{"device_id": device_id} for device_id in some]
            for item in self._items(keys, began_s, within_s):
                with suppress(BadDeviceError) if skips_bad else nullcontext():
                    device = device_from_item(item)
                    found[device.device_id] = device
        return found

    def _items(self, keys: list[dict[str, str]], began_s: float, within_s: float) -> Iterator[Any]:
        """Read items; those that DynamoDB defers are asked for again, which boto3 does not do."""
        wanted: Any = {self._table.name: {"Keys": keys, "ConsistentRead": True}}
        for pause_s_max in _PAUSES_S_MAX:
            self._pause(random.uniform(0, pause_s_max))  # noqa: S311 - no secret
            if time.monotonic() > began_s + within_s:
                raise RegistryUnavailableError(f"{within_s:g} s are over")
            with asking(RegistryUnavailableError):
                answer = self._table.meta.client.batch_get_item(RequestItems=wanted)
            yield from answer["Responses"].get(self._table.name, ())
            wanted = answer.get("UnprocessedKeys")
            if not wanted:
                return
        times = len(_PAUSES_S_MAX)
        raise RegistryUnavailableError(f"DynamoDB deferred a part of the answer, {times} times")

    def register(self, device: RegisteredDevice) -> None:
        """Write one device, over what was there."""
        with asking(RegistryUnavailableError):
            self._table.put_item(Item=_item_of(device))

    def register_all(self, devices: Iterable[RegisteredDevice]) -> None:
        """Write many devices; of one id, the last. A failure may leave some of them written."""
        with (
            asking(RegistryUnavailableError),
            self._table.batch_writer(overwrite_by_pkeys=["device_id"]) as batch,
        ):
            for device in devices:
                batch.put_item(Item=_item_of(device))

    def set_status(self, device_id: str, status: DeviceStatus) -> None:
        """Change a device's status, and nothing else of it; raises ``UnknownDeviceError``."""
        self._set(device_id, "status", status.value)

    def set_attributes(self, device_id: str, attributes: Mapping[str, str]) -> None:
        """Replace a device's attributes; raises likewise, or ``BadAttributeError``."""
        checked_attributes(attributes)
        self._set(device_id, "attributes", dict(attributes))

    def _set(self, device_id: str, name: str, value: object) -> None:
        if not is_updated(
            self._table,
            device_id,
            UpdateExpression="SET #name = :value",
            ConditionExpression="attribute_exists(device_id)",
            ExpressionAttributeNames={"#name": name},
            ExpressionAttributeValues={":value": value},
        ):
            raise UnknownDeviceError(device_id)


def is_updated(table: Table, device_id: str, **update: Any) -> bool:
    """Update a device's item by arguments of ``update_item``; says whether their condition held."""
    with asking(RegistryUnavailableError):
        try:
            table.update_item(Key={"device_id": device_id}, **update)
        except table.meta.client.exceptions.ConditionalCheckFailedException:
            return False
    return True


def _problem_of(keys: tuple[Jwk, ...]) -> str | None:
    if len(keys) > KEYS_MAX:
        return f"has {len(keys)} keys; at most {KEYS_MAX} are allowed"
    if not all(isinstance(key.get("kid"), str) for key in keys):
        return "has a key without a `kid`"
    if len({key["kid"] for key in keys}) < len(keys):
        return f"has two keys named {keys[0]['kid']!r}"
    for key in keys:
        if key.get("crv") != _CURVES.get(key.get("kty", ""), ""):
            return f"key {key['kid']!r} is neither EC on P-256 nor OKP on Ed25519"
        if "d" in key:
            return f"key {key['kid']!r} holds its private part"
    return None


def _item_of(device: RegisteredDevice) -> dict[str, Any]:
    item = asdict(device) | {"status": device.status.value, "keys": list(map(dict, device.keys))}
    return {name: value for name, value in item.items() if value not in (None, {})}


def device_from_item(item: Mapping[str, Any]) -> RegisteredDevice:
    """Read an item of the table; raises ``BadDeviceError`` where it is no device."""
    try:
        return RegisteredDevice(
            device_id=item["device_id"],
            device_type=item["device_type"],
            status=DeviceStatus(item["status"]),
            keys=tuple(item["keys"]),
            gateway_id=item.get("gateway_id"),
            attributes=item.get("attributes") or {},
            registered_ms=int(item["registered_ms"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise BadDeviceError(str(item.get("device_id")), f"its item: {problem!r}") from problem
