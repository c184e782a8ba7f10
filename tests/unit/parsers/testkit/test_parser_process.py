"""A parser in a process of its own: each message's outcome, whatever the parser does."""

import pytest

from fleetlane.parsers.testkit.parser_process import ParserProcess
from fleetlane.parsers.testkit.trials import Trial
from tests.unit.parsers.testkit.conftest import Subjects


@pytest.mark.parametrize(
    ("name", "body", "reason", "detail"),
    [
        ("needs-two", b"", "malformed", "0 bytes; at least 2"),
        ("index-error", b"abc", "parser_failed", "IndexError: index out of range"),
        ("not-json", b"n", "malformed", "an event holds what JSON does not"),
        ("exits", b"x", "crashed", "exit code 3"),
        ("hangs", b"h", "timeout", "not parsed within"),
    ],
)
def test_a_message_that_is_not_parsed_says_why(
    subject_of: Subjects, name: str, body: bytes, reason: str, detail: str
) -> None:
    with ParserProcess(subject_of(name)) as process:
        outcome = process.outcome(body)

    assert (outcome.reason, detail in outcome.detail) == (reason, True)


def test_messages_come_out_in_order_past_one_that_kills_its_process(subject_of: Subjects) -> None:
    bodies = [b"a", b"bb", b"x", b"ccc"]

    with ParserProcess(subject_of("exits")) as process:
        outcomes = process.outcomes([Trial(body=body) for body in bodies])

    assert [one.data for one in outcomes] == [[{"size": 1}], [{"size": 2}], [], [{"size": 3}]]


def test_a_parser_that_is_not_there_fails_its_messages(subject_of: Subjects) -> None:
    subject = subject_of("good")
    with ParserProcess(subject) as process:
        (site,) = filter(None, [subject.location])
        process.subject = type(subject)(
            flow=subject.flow,
            rule=subject.rule,
            lane=subject.lane,
            identifier=subject.identifier,
            location=f"{site}-not",
        )

        outcome = process.outcome(b"")

    assert (outcome.reason, "no parser 'good==1.0'" in outcome.detail) == ("parser_failed", True)
