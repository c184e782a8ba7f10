"""The edge without the jobs: a real broker, S3 and DynamoDB, and the gateway with the handlers."""

from collections.abc import Iterator

import pytest

from local.platform import Platform, PlatformSettings
from tests.e2e.devices import Device


@pytest.fixture(scope="package")
def edge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    folder = tmp_path_factory.mktemp("edge")
    with Platform(PlatformSettings(folder=folder, jobs={})) as platform:
        platform.start(lambda _: None)
        yield platform


@pytest.fixture
def device(edge: Platform) -> Device:
    return Device.registered(edge)
