"""Servers that several tests share, and how long faults last."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

from local.aws import LocalAws
from local.checkout import BROKER_JARS, LOCALSTACK_ENVIRONMENT
from local.kafka import KafkaBroker

settings.register_profile("short", deadline=None, derandomize=True)  # green is green next time
settings.register_profile("full", deadline=None, max_examples=5_000)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--faults",
        choices=("short", "full"),
        default="short",
        help="how long faults last and fuzzing goes on",
    )


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile(config.getoption("faults"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what belongs to the full length alone."""
    if config.getoption("faults") == "full":
        return
    left_out = [item for item in items if item.get_closest_marker("full_length")]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)


@pytest.fixture(scope="session")
def faults_are_full(pytestconfig: pytest.Config) -> bool:
    return bool(pytestconfig.getoption("faults") == "full")


@pytest.fixture(scope="session")
def kafka_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    broker = KafkaBroker(tmp_path_factory.mktemp("kafka"), jars=BROKER_JARS)
    broker.start()
    yield broker
    broker.stop()


@pytest.fixture(scope="session")
def local_aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalAws]:
    aws = LocalAws(tmp_path_factory.mktemp("aws"), environment=LOCALSTACK_ENVIRONMENT)
    aws.start()
    yield aws
    aws.stop()
