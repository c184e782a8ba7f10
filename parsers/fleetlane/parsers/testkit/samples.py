"""Samples: messages in files, each with its expected events beside it (docs/parsers.md)."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fleetlane.events.envelope import Record, raw_headers
from fleetlane.events.envelope_reading import message_from
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.lanes import PAYLOAD_BYTES_MAX
from fleetlane.events.record_json import ExportedRecord, record_from_json
from fleetlane.events.topics import PARKED
from fleetlane.parsers.body_encoding import decoded_body
from fleetlane.parsers.testkit.differences import changed_fields
from fleetlane.parsers.testkit.sites import Project
from fleetlane.parsers.testkit.trials import Finding, Outcome, Subject, Trial, counted_events


class BodyElsewhereError(FleetlaneError):
    """A record's body is in the bucket, where this does not look."""

    raw_id: str
    key: str
    sentence = "message {raw_id} has its body in the bucket, as {key}: fetch that file"


class NoMessageError(FleetlaneError):
    """A record is of a topic that holds no devices' messages."""

    topic: str
    sentence = "a record of {topic} has no device's bytes: give one of a raw topic, or of parked"


def recorded_trial(record: Record | ExportedRecord) -> Trial:
    """Read a record, and inflate its body as the platform does.

    Raises:
        BadEnvelopeError: Its headers are no message's.
        BodyElsewhereError: Its body is by reference.
        NoMessageError: It is of another topic than raw ones and ``parked``.
    """
    if not (record.topic or PARKED).startswith(("raw.", PARKED)):
        raise NoMessageError(str(record.topic))
    message = message_from(raw_headers(record.headers), record.value)
    if message.reference is not None:
        raise BodyElsewhereError(message.raw_id, message.reference.key)
    body, encoding = message.body or b"", message.body_encoding
    with suppress(FleetlaneError):  # else the sandbox says why it cannot be, as in the jobs
        body, encoding = decoded_body(body, encoding, bytes_max=PAYLOAD_BYTES_MAX), None
    return Trial(
        body=body,
        encoding=encoding,
        device_id=message.device_id,
        arrival_millis=message.arrival_millis,
        stream=message.stream,
        device_type=message.device_type,
        firmware=message.firmware,
    )


_RECORD: Final = ".record.json"


class BadSampleError(FleetlaneError):
    """A sample, or what is expected of it, cannot be used."""

    path: Path
    problem: str
    sentence = "{path}: {problem}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One message in a file, for the subject that the platform would choose."""

    path: Path
    trial: Trial
    subject: Subject

    @property
    def expected_path(self) -> Path:
        name = self.path.name.removesuffix(_RECORD).removesuffix(".bin")
        return self.path.with_name(f"{name}.json")

    @property
    def expected(self) -> object:
        """The expected outcome, ``None`` where none is written; raises ``BadSampleError``."""
        try:
            return json.loads(self.expected_path.read_bytes())
        except FileNotFoundError:
            return None
        except (ValueError, RecursionError) as problem:
            raise BadSampleError(self.expected_path, f"is not JSON: {problem}") from None


def found_form(outcome: Outcome) -> object:
    if outcome.reason is None:
        return outcome.data
    return {"reason": outcome.reason, "detail": outcome.detail}


def samples_of(project: Project, subjects: Sequence[Subject]) -> Iterator[Sample]:
    """All samples of a project, in the order of their names.

    Raises ``BadSampleError`` where one is no record, or its flow has no parser for its device.
    """
    by_stream: dict[str, list[Subject]] = {}
    for subject in subjects:
        by_stream.setdefault(subject.flow.stream, []).append(subject)
    for stream, its_subjects in by_stream.items():
        folders = [project.folder / "samples" / stream]
        if len(by_stream) == 1:
            folders.append(project.folder / "samples")
        for folder in folders:
            for path in sorted(folder.glob("*.bin")) + sorted(folder.glob(f"*{_RECORD}")):
                yield _sample(path, its_subjects)


def _sample(path: Path, subjects: Sequence[Subject]) -> Sample:
    content, is_record = path.read_bytes(), path.name.endswith(_RECORD)
    try:
        trial = recorded_trial(record_from_json(content)) if is_record else Trial(body=content)
    except FleetlaneError as problem:
        raise BadSampleError(path, str(problem)) from None
    rule, by_default = trial.rule_in(subjects[0].flow), None if is_record else subjects[0]
    subject = next((one for one in subjects if one.rule is rule), by_default)
    if subject is None:
        device = f"device type {trial.device_type!r}, firmware {trial.firmware!r}"
        raise BadSampleError(path, f"flow {subjects[0].flow.stream!r} has no parser for {device}")
    return Sample(path=path, trial=trial, subject=subject)


CHECK = "samples"


def sample_findings(sample: Sample, outcome: Outcome, *, update: bool) -> Iterator[Finding]:
    """What is wrong with a sample; with ``update`` its file is written instead.

    Raises ``BadSampleError`` where what is expected cannot be read.
    """
    if update:
        text = json.dumps(found_form(outcome), indent=2, ensure_ascii=False)
        sample.expected_path.write_text(f"{text}\n", encoding="utf-8")
        return
    name, expected = sample.path.name, sample.expected
    if expected is None:
        missing = f"{name} has no {sample.expected_path.name} beside it: --update writes it"
        yield Finding(check=CHECK, sentence=missing, body=sample.trial.body)
    elif _exact(found_form(outcome)) != _exact(expected):  # to ==, True is 1
        sentence = f"{name}: {_difference(expected, outcome)}"
        yield Finding(check=CHECK, sentence=sentence, body=sample.trial.body)


def _exact(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _difference(expected: object, outcome: Outcome) -> str:
    if outcome.reason is not None:
        return f"is {outcome}; expected {_in_short(expected)}"
    found = outcome.data
    if not isinstance(expected, list):
        return f"gives {outcome}; expected {_in_short(expected)}"
    if len(found) != len(expected):
        return f"gives {outcome}; expected {len(expected)}"
    for number, (is_now, should_be) in enumerate(zip(found, expected, strict=True)):
        if isinstance(should_be, Mapping):
            for field in changed_fields(should_be, is_now):
                return f"event {number}: {field.path} is {field.new}; expected {field.old}"
        if is_now != should_be:
            return f"event {number} is {is_now!r:.80}; expected {should_be!r:.80}"
    return "differs"


def _in_short(expected: object) -> str:
    match expected:
        case list():
            return counted_events(len(expected))
        case {"reason": reason, "detail": detail}:
            return f"{reason}: {detail}"
        case _:
            return "neither a list of events nor a reason and detail"
