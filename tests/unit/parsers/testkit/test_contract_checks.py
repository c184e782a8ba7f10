"""Parsers that break their contract are found out, and those that keep it are not blamed."""

import pytest

from fleetlane.parsers.testkit.contract_checks import (
    arbitrary_findings,
    mutation_findings,
    purity_findings,
)
from fleetlane.parsers.testkit.parser_process import ParserProcess
from tests.unit.parsers.testkit.conftest import Subjects

BODIES = [b"", b"a", b"some bytes"]


@pytest.mark.parametrize("name", ["hash-order", "clock"])
def test_events_that_are_others_in_another_process_are_found(
    subject_of: Subjects, name: str
) -> None:
    found = purity_findings(subject_of(name), BODIES)

    assert "purity" in {finding.check for finding in found}


def test_what_a_parser_remembers_is_seen_in_the_same_process(subject_of: Subjects) -> None:
    found = purity_findings(subject_of("remembers"), BODIES)

    assert next(found).check == "determinism"


def test_a_pure_parser_is_not_blamed(subject_of: Subjects) -> None:
    found = purity_findings(subject_of("good"), BODIES)

    assert list(found) == []


def test_arbitrary_bytes_that_a_parser_fails_on_are_made_small(subject_of: Subjects) -> None:
    with ParserProcess(subject_of("index-error")) as process:
        (finding,) = arbitrary_findings(process, [b"abcdef"], examples=50)

    assert finding.body == b""
    assert "0 bytes end as parser_failed: IndexError" in finding.sentence


def test_bytes_like_a_samples_reach_what_noise_does_not(subject_of: Subjects) -> None:
    with ParserProcess(subject_of("not-json")) as process:
        (finding,) = arbitrary_findings(process, [b"no"], examples=100)

    assert finding.sentence.startswith("1 bytes (6e): an event holds what JSON does not")


def test_a_parser_that_takes_any_bytes_is_not_blamed(subject_of: Subjects) -> None:
    with ParserProcess(subject_of("needs-two")) as process:
        found = list(arbitrary_findings(process, [b"abc"], examples=50))

    assert found == []


def test_a_sample_cut_short_shows_what_a_parser_takes_for_granted(subject_of: Subjects) -> None:
    with ParserProcess(subject_of("index-error")) as process:
        (finding,) = mutation_findings(process, b"abcd", "four.bin")

    assert finding.sentence.startswith("four.bin: 0 bytes end as parser_failed: IndexError")
