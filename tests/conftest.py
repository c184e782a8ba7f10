"""Servers that several tests share, and how long faults last."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from hypothesis import settings

from fleetlane.events.lanes import LaneTrigger
from local.checkout import LOCALSTACK_ENVIRONMENT
from local.servers.kafka import KafkaBroker
from local.servers.localstack import LocalAws
from tests.brokers import running_broker

WITH_SPARK: Final = (
    *("tests/cluster/", "tests/e2e/", "tests/e2e_cloud/", "tests/hostile/", "tests/readme/"),
    *("tests/real_time/", "tests/rehearsal/", "tests/soak/", "tests/spark/"),
    "tests/infra/test_jobs_as_deployed.py",
)
STAGES: Final = "tests/infra/"

settings.register_profile("short", deadline=None, derandomize=True)  # green is green next time
settings.register_profile("full", deadline=None, max_examples=5_000)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--faults",
        choices=("short", "full"),
        default="short",
        help="how long faults last and fuzzing goes on",
    )
    parser.addoption(
        "--fast-trigger",
        choices=tuple(LaneTrigger),
        default=LaneTrigger.MICRO_BATCHES,
        help="how the fast lane runs where the whole platform does",
    )
    soak = parser.getgroup("soak", "tests/soak")
    soak.addoption("--soak-minutes", type=float, default=20.0, help="how long it is")
    soak.addoption("--soak-fault-minutes", type=float, default=5.0, help="between two faults")
    soak.addoption("--soak-seed", type=int, default=1, help="of its fleet and its faults")


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile(config.getoption("faults"))
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell started it in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.pop("COLUMNS", None)  # noqa: TID251 - pytest-xdist gives its workers 80 columns
    node = Path(sys.executable).with_name("node")  # the wheel's: the machine may have none, or old
    os.environ["JSII_NODE"] = str(node)  # noqa: TID251 - the CDK's library is imported as it is


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What takes longest begins first; what belongs to the full length alone is left out.

    With ``--dist loadgroup`` one process has all that needs Spark, of which there is one at a time,
    and one the stages; the rest goes by its file. pytest-xdist reads the groups in this same hook:
    hence ``tryfirst``.
    """
    for item in items:
        if item.get_closest_marker("spark") and not item.nodeid.startswith(WITH_SPARK):
            raise pytest.UsageError(f"{item.nodeid} needs Spark: its place is in WITH_SPARK")
        item.add_marker(pytest.mark.xdist_group(_group_of(item.nodeid)))
    items.sort(key=lambda item: not item.nodeid.startswith(WITH_SPARK))
    if config.getoption("faults") == "full":
        return
    left_out = [item for item in items if item.get_closest_marker("full_length")]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)


def _group_of(nodeid: str) -> str:
    if nodeid.startswith(WITH_SPARK):
        return "spark"
    return "stages" if nodeid.startswith(STAGES) else nodeid.partition("::")[0]


@pytest.fixture(scope="session")
def faults_are_full(pytestconfig: pytest.Config) -> bool:
    return bool(pytestconfig.getoption("faults") == "full")


@pytest.fixture(scope="session")
def kafka_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    with running_broker(tmp_path_factory.mktemp("kafka")) as broker:
        yield broker


@pytest.fixture(scope="session")
def local_aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalAws]:
    aws = LocalAws(tmp_path_factory.mktemp("aws"), environment=LOCALSTACK_ENVIRONMENT)
    aws.start()
    yield aws
    aws.stop()
