"""Which files are samples, of which parser, and what is expected of them."""

import json
from pathlib import Path

import pytest

from fleetlane.parsers.testkit.samples import BadSampleError, Sample, sample_findings, samples_of
from fleetlane.parsers.testkit.sites import Sites, project_at
from fleetlane.parsers.testkit.trials import Outcome, TrialEvent

FLOW = """
stream = "{stream}"
owner = "acme"

[[parsers]]
use = "csv"
firmware = ">=2"

[[parsers]]
use = "json"
"""


def record(firmware: str | None) -> str:
    headers = [
        ["ce_specversion", "1.0"],
        ["ce_id", "1" + "0" * 32],
        ["ce_source", "/devices/d-1"],
        ["ce_type", "gps"],
        ["ce_arrivalmillis", "1762178709123"],
        ["ce_lane", "standard"],
        ["ce_attempt", "1"],
        ["ce_bodybytes", "2"],
        ["ce_parkedreason", "malformed"],
    ]
    if firmware is not None:
        headers.append(["ce_firmware", firmware])
    return json.dumps({"headers": headers, "value": "e30="})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "flows").mkdir()
    (tmp_path / "samples").mkdir()
    (tmp_path / "flows" / "gps.toml").write_text(FLOW.format(stream="gps"))
    return tmp_path


def found_in(folder: Path) -> list[Sample]:
    project = project_at(folder)
    with Sites() as sites:
        return list(samples_of(project, list(sites.subjects_in(project))))


def parsed(*events: dict[str, object]) -> Outcome:
    return Outcome(
        reason=None,
        detail="",
        parse_us=1,
        events=tuple(
            TrialEvent(topic="t", key="k", time=None, time_quality="missing", data=event)
            for event in events
        ),
    )


def test_bytes_are_for_the_rule_of_a_device_that_declares_nothing(folder: Path) -> None:
    (folder / "samples" / "one.bin").write_bytes(b"{}")

    (sample,) = found_in(folder)

    assert (sample.subject.rule.use, sample.trial.body) == ("json", b"{}")


@pytest.mark.parametrize(("firmware", "use"), [("2.1", "csv"), ("1.9", "json"), (None, "json")])
def test_a_record_is_for_the_rule_of_its_device(
    folder: Path, firmware: str | None, use: str
) -> None:
    (folder / "samples" / "one.record.json").write_text(record(firmware))

    (sample,) = found_in(folder)

    assert (sample.subject.rule.use, sample.expected_path.name) == (use, "one.json")


def test_with_several_flows_each_has_a_folder_of_samples(folder: Path) -> None:
    (folder / "flows" / "door.toml").write_text(FLOW.format(stream="door"))
    for name in ("gps", "door"):
        (folder / "samples" / name).mkdir()
        (folder / "samples" / name / "one.bin").write_bytes(name.encode())
    (folder / "samples" / "nobodys.bin").write_bytes(b"")

    samples = found_in(folder)

    assert [(one.subject.flow.stream, one.trial.body) for one in samples] == [
        ("door", b"door"),
        ("gps", b"gps"),
    ]


def test_what_is_no_record_is_refused_by_its_file(folder: Path) -> None:
    (folder / "samples" / "one.record.json").write_text("[]")

    with pytest.raises(BadSampleError, match=r"one\.record\.json: is no record"):
        found_in(folder)


@pytest.mark.parametrize(
    ("expected", "why"),
    [
        ("[]", "gives 1 event; expected 0"),
        ('[{"a": {"b": 2}}]', "event 0: a.b is 1; expected 2"),
        ('{"reason": "malformed", "detail": "no"}', "gives 1 event; expected malformed: no"),
        ("7", "neither a list of events nor a reason and detail"),
        (None, "one.bin has no one.json beside it: --update writes it"),
    ],
)
def test_a_sample_that_gives_something_else_says_what(
    folder: Path, expected: str | None, why: str
) -> None:
    (folder / "samples" / "one.bin").write_bytes(b"{}")
    if expected is not None:
        (folder / "samples" / "one.json").write_text(expected)
    (sample,) = found_in(folder)

    (finding,) = sample_findings(sample, parsed({"a": {"b": 1}}), update=False)

    assert why in finding.sentence


def test_what_is_expected_can_be_written_down(folder: Path) -> None:
    (folder / "samples" / "one.bin").write_bytes(b"{}")
    (sample,) = found_in(folder)

    findings = list(sample_findings(sample, parsed({"a": 1}), update=True))

    assert (findings, sample.expected) == ([], [{"a": 1}])
