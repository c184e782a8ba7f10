"""Samples: messages in files, and beside each what it should become.

``samples/NAME.bin`` holds a message's bytes, ``samples/NAME.record.json`` a record, exported; beside it
``samples/NAME.json`` the events that the parser should give, or ``{"reason": …, "detail": …}``. With several
flows each has a folder of its own: ``samples/STREAM/``.
"""  # noqa: E501 - paths

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.flows.parser_choice import parser_rule_for
from fleetlane.events.record_json import record_from_json
from fleetlane.parsers.testkit.messages import recorded_message
from fleetlane.parsers.testkit.projects import Project
from fleetlane.parsers.testkit.trials import Outcome, Subject, Trial

_RECORD: Final = ".record.json"


class BadSampleError(FleetlaneError):
    """A sample, or what is expected of it, cannot be used."""

    reason = "bad_sample"
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
        return self.path.with_name(f"{_name_of(self.path)}.json")

    @property
    def expected(self) -> object | None:
        """What should come of it; ``None`` where nobody has said.

        Raises:
            BadSampleError: The file is no JSON.
        """
        try:
            found: object = json.loads(self.expected_path.read_bytes())
        except FileNotFoundError:
            return None
        except (ValueError, RecursionError) as problem:
            raise BadSampleError(self.expected_path, f"is not JSON: {problem}") from None
        return found


def found_form(outcome: Outcome) -> object:
    """An outcome as a file beside a sample says it."""
    if outcome.reason is None:
        return outcome.data
    return {"reason": outcome.reason, "detail": outcome.detail}


def write_expected(sample: Sample, outcome: Outcome) -> None:
    text = json.dumps(found_form(outcome), indent=2, ensure_ascii=False)
    sample.expected_path.write_text(f"{text}\n", encoding="utf-8")


def samples_of(project: Project, subjects: Sequence[Subject]) -> Iterator[Sample]:
    """All samples of a project, in the order of their names.

    Raises:
        BadSampleError: One is no record, or of a device that its flow has no parser for.
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
    if not path.name.endswith(_RECORD):
        body = path.read_bytes()
        by_default = _subject_for(subjects, None, None) or subjects[0]
        return Sample(path=path, trial=Trial(body=body), subject=by_default)
    try:
        message = recorded_message(record_from_json(path.read_bytes()))
    except FleetlaneError as problem:
        raise BadSampleError(path, str(problem)) from None
    subject = _subject_for(subjects, message.device_type, message.firmware)
    if subject is None:
        device = f"device type {message.device_type!r}, firmware {message.firmware!r}"
        raise BadSampleError(path, f"flow {subjects[0].flow.stream!r} has no parser for {device}")
    return Sample(path=path, trial=message.trial, subject=subject)


def _subject_for(
    subjects: Sequence[Subject], device_type: str | None, firmware: str | None
) -> Subject | None:
    flow = subjects[0].flow
    rule = parser_rule_for(flow, device_type=device_type, firmware=firmware)
    return next((one for one in subjects if one.rule is rule), None)


def _name_of(path: Path) -> str:
    return path.name.removesuffix(_RECORD).removesuffix(".bin")
