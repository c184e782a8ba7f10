"""One deployed local stage for the tests of this folder."""

from collections.abc import Iterator

import pytest

from local.cloud.local_cloud import LocalCloud


@pytest.fixture(scope="package")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCloud]:
    with LocalCloud(tmp_path_factory.mktemp("cloud")) as cloud:
        cloud.start(lambda _: None)
        yield cloud
