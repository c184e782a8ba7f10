"""Samples against what is expected of them."""

from collections.abc import Iterator, Mapping

from fleetlane.parsers.testkit.differences import changed_fields
from fleetlane.parsers.testkit.findings import Finding
from fleetlane.parsers.testkit.samples import Sample, found_form, write_expected
from fleetlane.parsers.testkit.trials import Outcome

CHECK = "samples"


def sample_findings(sample: Sample, outcome: Outcome, *, update: bool) -> Iterator[Finding]:
    """What is wrong with a sample; with ``update`` its file is written instead.

    Raises:
        BadSampleError: What is expected cannot be read.
    """
    if update:
        write_expected(sample, outcome)
        return
    name, expected = sample.path.name, sample.expected
    if expected is None:
        missing = f"{name} has no {sample.expected_path.name} beside it: --update writes it"
        yield Finding(check=CHECK, sentence=missing, body=sample.trial.body)
    elif found_form(outcome) != expected:
        sentence = f"{name}: {_difference(expected, outcome)}"
        yield Finding(check=CHECK, sentence=sentence, body=sample.trial.body)


def _difference(expected: object, outcome: Outcome) -> str:
    if outcome.reason is not None:
        return f"is {outcome.reason}: {outcome.detail}; expected {_in_short(expected)}"
    found = outcome.data
    if not isinstance(expected, list):
        return f"gives {len(found)} events; expected {_in_short(expected)}"
    if len(found) != len(expected):
        return f"gives {len(found)} events; expected {len(expected)}"
    for number, (is_now, should_be) in enumerate(zip(found, expected, strict=True)):
        if isinstance(should_be, Mapping) and (fields := changed_fields(should_be, is_now)):
            field = fields[0]
            return f"event {number}: {field.path} is {field.new}; expected {field.old}"
        if is_now != should_be:
            return f"event {number} is {is_now!r:.80}; expected {should_be!r:.80}"
    return "differs"


def _in_short(expected: object) -> str:
    match expected:
        case list():
            return f"{len(expected)} events"
        case {"reason": reason, "detail": detail}:
            return f"{reason}: {detail}"
        case _:
            return "what is neither a list of events nor a reason and detail"
