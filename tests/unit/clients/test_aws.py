import hashlib
import socket
import time
from collections.abc import Iterator

import pytest

from clients.aws import AwsSettings, dynamodb_table, s3_client
from clients.devices.registry import DeviceRegistry, RegistryUnavailableError
from clients.s3.payload_bucket import PayloadBucket, PayloadUnavailableError

BODY = bytes(300_000)


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch) -> Iterator[AwsSettings]:
    """An AWS that takes connections and never answers."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        yield AwsSettings(endpoint_url=f"http://127.0.0.1:{port}", region_name="us-east-1")


def test_an_s3_that_hangs_is_given_up_in_time(hanging: AwsSettings) -> None:
    payloads = PayloadBucket(s3_client(hanging), "payloads")
    began_s = time.monotonic()

    with pytest.raises(PayloadUnavailableError, match="Read timeout"):
        payloads.put("payloads/1", BODY, hashlib.sha256(BODY).hexdigest())

    assert time.monotonic() - began_s < 5.5


def test_a_dynamodb_that_hangs_is_given_up_in_time(hanging: AwsSettings) -> None:
    registry = DeviceRegistry(dynamodb_table(hanging, "devices"))
    began_s = time.monotonic()

    with pytest.raises(RegistryUnavailableError, match="Read timeout"):
        registry.find("d-1")

    assert time.monotonic() - began_s < 5.5
