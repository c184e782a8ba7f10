"""The canary's key in Systems Manager, and its enrolment."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from clients.aws import client_config
from clients.device_api import DeviceKey
from clients.devices.canary_key import (
    CanaryKeyParameter,
    CanaryKeyUnavailableError,
    CanaryNotEnrolledError,
)
from clients.devices.registry import DeviceRegistry
from fleetlane.events.canary import DEVICE_ID, DEVICE_TYPE
from operations.devices.canary import enrolled
from operations.endpoints import REGION
from tests.contract.aws_in_process import device_table

NAME = "/fleetlane/dev/canary-key"


class ReadOnly(CanaryKeyParameter):
    """A parameter that Systems Manager does not write just now."""

    def write(self, key: DeviceKey) -> None:
        raise CanaryKeyUnavailableError(NAME, f"no answer for key {key.kid}")


@pytest.fixture
def ssm() -> Iterator[Any]:
    with mock_aws():
        yield boto3.client("ssm", region_name=REGION)


def test_a_key_is_read_as_it_was_written_and_is_stored_encrypted(ssm: Any) -> None:
    key, parameter = DeviceKey.generate(), CanaryKeyParameter(ssm, NAME)

    parameter.write(key)

    assert parameter.read().private_jwk == key.private_jwk
    assert ssm.get_parameter(Name=NAME)["Parameter"]["Type"] == "SecureString"


def test_before_it_is_enrolled_there_is_none(ssm: Any) -> None:
    with pytest.raises(CanaryNotEnrolledError, match="enroll-canary"):
        CanaryKeyParameter(ssm, NAME).read()


def test_what_is_no_key_is_refused_and_not_quoted(ssm: Any) -> None:
    ssm.put_parameter(Name=NAME, Value='{"d": "very secret"}', Type="SecureString")

    with pytest.raises(CanaryKeyUnavailableError) as refused:
        CanaryKeyParameter(ssm, NAME).read()

    assert "very secret" not in str(refused.value)


def test_where_systems_manager_does_not_answer_the_error_is_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    nobody = boto3.client(
        "ssm", region_name=REGION, endpoint_url="http://127.0.0.1:9", config=client_config()
    )

    with pytest.raises(CanaryKeyUnavailableError):
        CanaryKeyParameter(nobody, NAME).read()


def test_enrolling_registers_the_public_half_of_the_key_that_is_written(ssm: Any) -> None:
    with device_table() as table:
        registry, parameter = DeviceRegistry(table), CanaryKeyParameter(ssm, NAME)

        enrolled(registry, parameter, now_ms=1)

        device = registry.find(DEVICE_ID)
        assert device is not None
        assert (device.device_type, device.keys) == (DEVICE_TYPE, (parameter.read().public_jwk,))


def test_enrolling_again_leaves_the_key_before_valid_and_none_older(ssm: Any) -> None:
    with device_table() as table:
        registry, parameter = DeviceRegistry(table), CanaryKeyParameter(ssm, NAME)

        keys = [enrolled(registry, parameter, now_ms=number) for number in range(3)]

        device = registry.find(DEVICE_ID)
        assert device is not None
        assert [key["kid"] for key in device.keys] == [keys[2].kid, keys[1].kid]


def test_enrolling_after_one_that_wrote_no_key_leaves_the_key_in_use_valid(ssm: Any) -> None:
    with device_table() as table:
        registry, parameter = DeviceRegistry(table), CanaryKeyParameter(ssm, NAME)
        in_use = enrolled(registry, parameter, now_ms=1)
        with pytest.raises(CanaryKeyUnavailableError):
            enrolled(registry, ReadOnly(ssm, NAME), now_ms=2)

        new = enrolled(registry, parameter, now_ms=3)

        device = registry.find(DEVICE_ID)
        assert device is not None
        assert [key["kid"] for key in device.keys] == [new.kid, in_use.kid]


def test_enrolling_replaces_what_is_no_key(ssm: Any) -> None:
    ssm.put_parameter(Name=NAME, Value="no key", Type="SecureString")
    with device_table() as table:
        parameter = CanaryKeyParameter(ssm, NAME)

        key = enrolled(DeviceRegistry(table), parameter, now_ms=1)

        assert parameter.read().kid == key.kid
