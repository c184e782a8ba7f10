import re
from collections.abc import Iterator

import pytest

from infra.constructs.jobs.restarts import CHECK_MINUTES
from infra.stages import STAGE_NAMES
from tests.infra.synthesis import ROOT, Synthesized

pytestmark = pytest.mark.cdk

OPERATIONS = ROOT / "docs" / "operations.md"
ALARMS = ROOT / "docs" / "alarms.md"
STEPS = 3


def _sections() -> dict[str, str]:
    """The text under each heading of the second level, by heading."""
    _, *parts = re.split(r"^## ", ALARMS.read_text(), flags=re.MULTILINE)
    return dict(part.split("\n", 1) for part in parts)


def _documented() -> Iterator[str]:
    for heading in _sections():
        yield from re.findall(r"`([^`]+)`", heading)


def _alarms(stage: Synthesized) -> set[str]:
    """The names of the code, without stage; of the brokers' alarms, one for all brokers."""
    alarms = stage.resources("AWS::CloudWatch::Alarm").values()
    names = (one["Properties"]["AlarmName"].split("-", 2)[2] for one in alarms)
    return {re.sub(r"^broker-\d+-", "broker-<n>-", name) for name in names}


def test_every_alarm_has_its_section_and_no_section_is_of_an_alarm_that_is_gone(
    cloud_stage: Synthesized,
) -> None:
    documented = sorted(_documented())

    assert documented == sorted(_alarms(cloud_stage))


@pytest.mark.parametrize("heading", list(_sections()))
def test_every_alarm_says_what_it_means_and_its_first_three_steps(heading: str) -> None:
    section = _sections()[heading]

    meaning, *_ = section.strip().splitlines()
    steps = re.findall(r"^(\d)\. ", section, flags=re.MULTILINE)

    assert not meaning.startswith("1.")
    assert steps == [str(number) for number in range(1, STEPS + 1)]


def test_stages_and_times_are_those_of_the_code() -> None:
    text = _text()

    assert all(f"`{stage}`" in text for stage in STAGE_NAMES)
    assert f"every {CHECK_MINUTES} minutes" in text


def _text() -> str:
    return OPERATIONS.read_text()
