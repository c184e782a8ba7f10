"""Hours of mixed traffic and faults: nothing is lost, nothing grows, backlogs go away."""

from typing import Final

import pytest

from local.checkout import ROOT
from local.spark.jobs import Application
from tests.soak.dealing import SoakSettings
from tests.soak.memory import AFTER_FULL_COLLECTIONS, AT_REST, LOCALSTACK
from tests.soak.report import SoakReport, tell
from tests.soak.soak import platform_to_soak

pytestmark = [
    pytest.mark.spark,
    pytest.mark.kafka,
    pytest.mark.localstack,
    pytest.mark.faults,
    pytest.mark.full_length,
]

FOLDER: Final = ROOT / "build" / "soak"
MEASURED: Final = {
    *("gateway", "Python workers"),
    *("Kafka broker, outside its heap", f"Kafka broker, {AT_REST}"),
    *(f"Spark JVM ({one}), outside its heap" for one in Application),
    *(f"Spark JVM ({one}), {AT_REST}" for one in Application),
}
"""Roles whose memory is known, or nothing grew for want of a number."""


@pytest.fixture(scope="module")
def report(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> SoakReport:
    settings = SoakSettings(
        minutes=pytestconfig.getoption("soak_minutes"),
        fault_every_s=60 * pytestconfig.getoption("soak_fault_minutes"),
        seed=pytestconfig.getoption("soak_seed"),
        folder=tmp_path_factory.mktemp("soak"),
    )
    with platform_to_soak(settings) as soak:
        report = soak.run()
    tell(report.write(FOLDER))
    return report


def test_nothing_is_lost_and_nothing_invented(report: SoakReport) -> None:
    ledger = report.ledger

    assert (ledger.lost, ledger.invented, list(ledger.findings.lines())) == (0, 0, [])


def test_the_lake_has_each_event_once(report: SoakReport) -> None:
    assert report.rows_twice == 0


def test_no_device_is_refused_that_may_send(report: SoakReport) -> None:
    """In which lane it lands may differ: who catches up after an outage may be quarantined."""
    assert report.ledger.accepted
    assert [one for one in report.surprises if ": answered 4" in one] == []


def test_every_backlog_is_back_to_normal_in_time(report: SoakReport) -> None:
    assert report.faults
    assert [one for one in report.faults if not one.is_ok] == []


def test_no_role_s_memory_grows(report: SoakReport) -> None:
    reported_only = (LOCALSTACK, AFTER_FULL_COLLECTIONS)
    ours = [one for one in report.memory if not one.role.endswith(reported_only)]

    assert {one.role for one in ours} >= MEASURED
    assert [one for one in ours if not one.is_flat] == []


def test_no_part_dies_when_nothing_befell_it(report: SoakReport) -> None:
    assert report.calm_restarts == ()
