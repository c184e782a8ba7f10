"""Looking through the registry and changing keys, over moto's DynamoDB."""

from collections.abc import Iterator
from copy import replace
from typing import TYPE_CHECKING

import pytest

from clients.devices.registry import (
    BadDeviceError,
    DeviceRegistry,
    DeviceStatus,
    RegisteredDevice,
    UnknownDeviceError,
)
from operations.devices.stores import DeviceAdministration, KeyChangeError
from tests.contract.aws_in_process import device_table

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.service_resource import Table

FIRST = {"kid": "2025", "kty": "EC", "crv": "P-256", "x": "eA", "y": "eQ"}
SECOND = {"kid": "2026", "kty": "OKP", "crv": "Ed25519", "x": "eA"}


@pytest.fixture
def table() -> "Iterator[Table]":
    with device_table() as table:
        yield table


@pytest.fixture
def administration(table: "Table") -> DeviceAdministration:
    DeviceRegistry(table).register(_device("d-1"))
    return DeviceAdministration(table)


def test_more_devices_than_one_answer_holds_are_all_given(
    administration: DeviceAdministration, table: "Table"
) -> None:
    long = FIRST | {"note": "x" * 10_000}  # an answer of DynamoDB's holds a megabyte
    fleet = [_device(f"d-{number}", keys=(long,)) for number in range(150)]
    DeviceRegistry(table).register_all(fleet)

    found = {device.device_id for device in administration.all()}

    assert found == {device.device_id for device in fleet}


def test_the_fleets_questions_get_devices_without_their_keys(
    administration: DeviceAdministration, table: "Table"
) -> None:
    relayed = replace(_device("d-2"), gateway_id="d-1", status=DeviceStatus.QUARANTINED)
    DeviceRegistry(table).register(relayed)

    found = sorted(administration.all_without_keys(), key=lambda one: one.device_id)

    assert found == [replace(one, keys=()) for one in (_device("d-1"), relayed)]


def test_devices_are_found_by_type_and_status_and_by_an_ids_beginning(
    administration: DeviceAdministration, table: "Table"
) -> None:
    gone = replace(_device("d-2"), status=DeviceStatus.REVOKED)
    pump = replace(_device("pump-1"), device_type="pump")
    DeviceRegistry(table).register_all([gone, pump])

    revoked = [one.device_id for one in administration.all(status=DeviceStatus.REVOKED)]
    both = list(administration.all(status=DeviceStatus.REVOKED, device_type="pump"))
    named = sorted(administration.ids("d-"))

    assert (revoked, both, named) == (["d-2"], [], ["d-1", "d-2"])


def test_keys_are_changed_alone(administration: DeviceAdministration, table: "Table") -> None:
    administration.add_key("d-1", SECOND)

    assert DeviceRegistry(table).find("d-1") == _device("d-1", keys=(FIRST, SECOND))


def test_who_adds_a_key_between_anothers_reading_and_writing_leaves_no_room_for_it(
    administration: DeviceAdministration, table: "Table"
) -> None:
    events, event = table.meta.client.meta.events, "after-call.dynamodb.GetItem"

    def overtake(**_: object) -> None:
        events.unregister(event, overtake)
        administration.add_key("d-1", SECOND)

    events.register(event, overtake)

    with pytest.raises(KeyChangeError, match="has 2 keys, the most allowed: 2025, 2026"):
        administration.add_key("d-1", SECOND | {"kid": "late"})

    assert DeviceRegistry(table).find("d-1") == _device("d-1", keys=(FIRST, SECOND))


def test_a_key_of_a_name_that_is_taken_is_refused(administration: DeviceAdministration) -> None:
    with pytest.raises(KeyChangeError, match="has another key named '2025'"):
        administration.add_key("d-1", SECOND | {"kid": "2025"})


def test_a_key_that_no_device_may_have_is_refused(administration: DeviceAdministration) -> None:
    with pytest.raises(BadDeviceError, match="neither EC on P-256 nor OKP on Ed25519"):
        administration.add_key("d-1", SECOND | {"crv": "Ed448"})


def test_the_keys_of_an_unknown_device_cannot_be_changed(
    administration: DeviceAdministration,
) -> None:
    with pytest.raises(UnknownDeviceError):
        administration.remove_key("d-2", "2025")


def _device(device_id: str, *, keys: tuple[dict[str, str], ...] = (FIRST,)) -> RegisteredDevice:
    return RegisteredDevice(
        device_id=device_id, device_type="acme-thermo", keys=keys, registered_ms=0
    )


def test_a_removed_device_is_gone_and_may_be_removed_again(
    administration: DeviceAdministration,
) -> None:
    was_there = administration.is_there("d-1")

    for _ in range(2):
        administration.remove("d-1")

    assert (was_there, administration.is_there("d-1")) == (True, False)
