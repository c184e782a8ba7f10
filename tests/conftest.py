"""Servers that several tests share, and how long faults last."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

from local.aws import LocalAws
from local.checkout import BROKER_JARS, LOCALSTACK_ENVIRONMENT
from local.kafka import KafkaBroker

settings.register_profile("short", deadline=None)
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


@pytest.hookimpl(tryfirst=True)  # before the groups are read
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Group the tests for two processes, and leave out what belongs to the full length alone."""
    for item in items:
        item.add_marker(pytest.mark.xdist_group(_group(item)))
    if config.getoption("faults") == "full":
        return
    left_out = [item for item in items if item.get_closest_marker("full_length")]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)


def _group(item: pytest.Item) -> str:
    """All that starts a server runs in one process, one after another: it fills a core by itself.

    The modules of the other tests go wherever there is room.
    """
    needs_no_server = {"unit", "examples"} & set(item.path.relative_to(item.config.rootpath).parts)
    return item.path.name if needs_no_server else "servers"


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
