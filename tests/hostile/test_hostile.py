"""Ten devices attack amid a thousand honest ones: those notice nothing, and nothing is lost."""

from typing import Final

import pytest

from local.checkout import ROOT
from tests.hostile.attacks import Attack, attacks
from tests.hostile.report import HostileReport
from tests.hostile.rounds import hostile_run
from tests.soak.report import tell

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.localstack, pytest.mark.full_length]

NUMBERS: Final = ROOT / "build" / "bench" / "hostile.json"
P95_RATIO_MAX: Final = 1.5


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> HostileReport:
    with hostile_run(tmp_path_factory.mktemp("hostile")) as run:
        report = run.run()
    tell(report.write(NUMBERS))
    return report


def test_nothing_is_lost_and_nothing_invented(report: HostileReport) -> None:
    ledger = report.ledger

    assert (ledger.lost, ledger.invented, list(ledger.findings.lines())) == (0, 0, [])


def test_honest_devices_notice_little_of_it(report: HostileReport) -> None:
    assert report.honest_refused == 0
    assert report.honest_p95_ratio <= P95_RATIO_MAX, report.rounds


@pytest.mark.parametrize("attack", attacks(), ids=lambda attack: attack.name)
def test_an_attack_is_answered_as_it_should_be(report: HostileReport, attack: Attack) -> None:
    answers = report.answers[attack.name]

    assert answers
    assert set(answers) <= attack.answers


def test_no_parser_gets_out(report: HostileReport) -> None:
    assert report.loot == ()


def test_no_part_of_the_platform_dies(report: HostileReport) -> None:
    assert report.died == ()


def test_the_fleet_can_be_seen_afterwards(report: HostileReport) -> None:
    assert "[/]" in report.health
