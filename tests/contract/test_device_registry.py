"""The device registry: the fake and moto's DynamoDB keep the same promises."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from clients.aws import AwsSettings, dynamodb_table
from clients.devices.registry import (
    BadDeviceError,
    DeviceRegistry,
    DeviceStatus,
    RegisteredDevice,
    RegistryUnavailableError,
    UnknownDeviceError,
)
from fleetlane.events.attributes import BadAttributeError
from tests.contract.aws_in_process import device_table
from tests.unit.lambdas.fakes import FakeDevices

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.service_resource import Table

OLD_KEY = {"kid": "2025", "kty": "EC", "crv": "P-256", "x": "eA", "y": "eQ"}
NEW_KEY = {"kid": "2026", "kty": "OKP", "crv": "Ed25519", "x": "eA"}


class Devices(Protocol):
    def register(self, device: RegisteredDevice) -> None: ...

    def find(self, device_id: str) -> RegisteredDevice | None: ...

    def find_all(self, device_ids: Iterable[str]) -> Mapping[str, RegisteredDevice]: ...


@pytest.fixture
def table() -> "Iterator[Table]":
    with device_table() as table:
        yield table


@pytest.fixture
def registry(table: "Table") -> DeviceRegistry:
    return DeviceRegistry(table)


@pytest.fixture(params=["fake", "moto"])
def devices(request: pytest.FixtureRequest, registry: DeviceRegistry) -> Devices:
    return FakeDevices() if request.param == "fake" else registry


def test_a_registered_device_is_found_as_it_was_registered(devices: Devices) -> None:
    attributes = {"site": "Ulm", "line": "3"}
    device = _device("d-1", keys=(OLD_KEY, NEW_KEY), gateway_id="gw-1", attributes=attributes)

    devices.register(device)

    assert devices.find("d-1") == device


def test_a_device_that_was_never_registered_is_not_found(devices: Devices) -> None:
    assert devices.find("d-1") is None


def test_registering_again_replaces_the_device(devices: Devices) -> None:
    devices.register(_device("d-1", keys=(OLD_KEY,), gateway_id="gw-1"))

    devices.register(_device("d-1", keys=(NEW_KEY,)))

    assert devices.find("d-1") == _device("d-1", keys=(NEW_KEY,))


def test_many_are_registered_at_once_and_the_last_of_one_id_stays(registry: DeviceRegistry) -> None:
    fleet = [_device(f"d-{n}", keys=(OLD_KEY,)) for n in range(60)]

    registry.register_all([*fleet, _device("d-7", keys=(NEW_KEY,))])

    assert registry.find("d-59") == fleet[59]
    assert registry.find("d-7") == _device("d-7", keys=(NEW_KEY,))


def test_those_of_many_that_are_registered_are_found(devices: Devices) -> None:
    fleet = {f"d-{n}": _device(f"d-{n}", keys=(OLD_KEY,)) for n in range(150)}
    for device in fleet.values():
        devices.register(device)

    found = devices.find_all([*fleet, "d-0", "nobody"])

    assert found == fleet


def test_among_many_an_item_that_is_no_device_can_be_left_out(
    registry: DeviceRegistry, table: "Table"
) -> None:
    table.put_item(Item={"device_id": "d-1", "status": "sleepy"})
    registry.register(_device("d-2", keys=(OLD_KEY,)))

    assert list(registry.find_all(["d-1", "d-2"], skips_bad=True)) == ["d-2"]


def test_among_many_an_item_that_is_no_device_is_not_taken_for_a_missing_one(
    registry: DeviceRegistry, table: "Table"
) -> None:
    table.put_item(Item={"device_id": "d-1", "status": "revoked"})

    with pytest.raises(BadDeviceError, match="d-1"):
        registry.find_all(["d-1", "d-2"])


def test_once_its_time_is_over_no_further_call_is_made(registry: DeviceRegistry) -> None:
    with pytest.raises(RegistryUnavailableError, match="s are over"):
        registry.find_all(["d-1"], within_s=-1)


def defer_one_of_each(table: "Table", *, answers: int) -> None:
    """Have the first answers about many devices leave one of them for the next."""
    left = iter(range(answers))

    def defer(parsed: Any, **_: object) -> None:
        if next(left, None) is not None:
            item = parsed["Responses"]["devices"].pop()
            keys = [{"device_id": item["device_id"]}]
            parsed["UnprocessedKeys"] = {"devices": {"Keys": keys, "ConsistentRead": True}}

    table.meta.client.meta.events.register("after-call.dynamodb.BatchGetItem", defer)


def test_what_dynamodb_defers_of_many_is_asked_for_again(table: "Table") -> None:
    pauses_s, fleet = list[float](), {f"d-{n}": _device(f"d-{n}", keys=(OLD_KEY,)) for n in "123"}
    registry = DeviceRegistry(table, pause=pauses_s.append)
    registry.register_all(fleet.values())
    defer_one_of_each(table, answers=2)

    found = registry.find_all(fleet)

    assert (found, len(pauses_s)) == (fleet, 3)


def test_what_dynamodb_defers_again_and_again_is_an_outage(table: "Table") -> None:
    registry = DeviceRegistry(table, pause=lambda _: None)
    registry.register(_device("d-1", keys=(OLD_KEY,)))
    defer_one_of_each(table, answers=99)

    with pytest.raises(RegistryUnavailableError, match="deferred a part of the answer, 4 times"):
        registry.find_all(["d-1"])


def test_of_many_a_missing_table_is_an_outage(table: "Table") -> None:
    table.delete()

    with pytest.raises(RegistryUnavailableError):
        DeviceRegistry(table).find_all(["d-1"])


def test_a_status_is_changed_alone(registry: DeviceRegistry) -> None:
    registry.register(_device("d-1", keys=(OLD_KEY,)))

    registry.set_status("d-1", DeviceStatus.REVOKED)

    found = registry.find("d-1")
    assert found == _device("d-1", keys=(OLD_KEY,), status=DeviceStatus.REVOKED)


def test_attributes_are_changed_alone_and_replace_those_before(registry: DeviceRegistry) -> None:
    registry.register(_device("d-1", keys=(OLD_KEY,), attributes={"line": "3"}))

    registry.set_attributes("d-1", {"site": "Ulm"})

    assert registry.find("d-1") == _device("d-1", keys=(OLD_KEY,), attributes={"site": "Ulm"})


@pytest.mark.parametrize(
    "attributes",
    [
        {"source": "x"},
        {"Site": "x"},
        {"site": ""},
        {"site": 'a"'},
        {"s" * 21: "x"},
        {f"a{number}": "x" for number in range(11)},
        {f"a{number}": "x" * 60 for number in range(3)},
    ],
)
def test_attributes_that_events_cannot_take_along_are_refused(
    registry: DeviceRegistry, attributes: dict[str, str]
) -> None:
    registry.register(_device("d-1", keys=(OLD_KEY,)))

    with pytest.raises(BadAttributeError, match="allowed"):
        registry.set_attributes("d-1", attributes)


def test_the_status_of_an_unknown_device_cannot_be_changed(registry: DeviceRegistry) -> None:
    with pytest.raises(UnknownDeviceError, match="d-1"):
        registry.set_status("d-1", DeviceStatus.REVOKED)

    assert registry.find("d-1") is None


def test_an_item_that_is_no_device_is_an_error_of_its_own(
    registry: DeviceRegistry, table: "Table"
) -> None:
    table.put_item(Item={"device_id": "d-1", "status": "sleepy"})

    with pytest.raises(BadDeviceError, match="d-1"):
        registry.find("d-1")


def test_a_missing_table_is_an_outage(table: "Table") -> None:
    table.delete()

    with pytest.raises(RegistryUnavailableError):
        DeviceRegistry(table).find("d-1")


def test_a_registry_that_refuses_connections_is_an_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
    settings = AwsSettings(endpoint_url="http://127.0.0.1:1", region_name="us-east-1")

    with pytest.raises(RegistryUnavailableError):
        DeviceRegistry(dynamodb_table(settings, "devices")).find("d-1")


def _device(
    device_id: str,
    *,
    keys: tuple[dict[str, str], ...],
    status: DeviceStatus = DeviceStatus.ACTIVE,
    gateway_id: str | None = None,
    attributes: Mapping[str, str] | None = None,
) -> RegisteredDevice:
    return RegisteredDevice(
        device_id=device_id,
        device_type="acme-thermo",
        status=status,
        keys=keys,
        gateway_id=gateway_id,
        attributes=attributes or {},
        registered_ms=1_790_000_000_000,
    )
