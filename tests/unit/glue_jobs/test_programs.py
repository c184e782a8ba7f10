"""From a rule to its program: whatever a team may publish fails its own flow alone."""

import errno
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest
from msgspec.structs import replace

from clients.flows.parser_store import ArtifactUnavailableError
from fleetlane.events.errors import ParkedReason
from fleetlane.events.flows.artifacts import FlowArtifact
from fleetlane.events.flows.files import PublishedFlows, flow_from_toml
from fleetlane.events.flows.flow import ParserRule
from fleetlane.events.lanes import LANE_LIMITS, Lane
from fleetlane.parsers.sandbox.budgets import TimeBudget
from fleetlane.parsers.sandbox.results import Result
from fleetlane.parsers.sandbox.runs import Loaded, Program, Run
from glue_jobs.parse_lane.parsers.choices import NoParser
from glue_jobs.parse_lane.parsers.programs import FETCHES_MAX, FoundProgram, Programs
from tests.unit.glue_jobs.conftest import NoArtifacts


class LoadsAll:
    """Sandboxes that are never asked to parse."""

    def parsed(self, run: Run, budget: TimeBudget, *, children_max: int = 1) -> Iterator[Result]:
        raise NotImplementedError

    def loaded(self, program: Program, owner: str) -> Loaded:
        return Loaded()

    def awake(self) -> AbstractContextManager[None]:
        return nullcontext()

    def rest(self) -> None: ...

    def jail_problems(self) -> dict[str, str]:
        return {}

    def close(self) -> None: ...


class LoadsNoneOfAcme(LoadsAll):
    """Sandboxes in which one owner has used up its time for loading."""

    def loaded(self, program: Program, owner: str) -> Loaded:
        if owner == "acme":
            return Loaded("the parsers of acme take too long to load", is_deferred=True)
        return Loaded()


class Unpacked(NoArtifacts):
    """Gives every artifact the same folder."""

    def __init__(self, folder: Path) -> None:
        self._unpacked = folder

    def folder_of(self, artifact: FlowArtifact) -> Path:
        return self._unpacked


class FullDisk(NoArtifacts):
    """S3 answers, and what it gives has no room here."""

    def folder_of(self, artifact: FlowArtifact) -> Path:
        problem = OSError(errno.ENOSPC, "No space left on device")
        raise ArtifactUnavailableError(artifact.key, str(problem)) from problem


ARTIFACT = FlowArtifact(owner="acme", use="tank==1.0", key="parsers/acme/x", sha256="0" * 64)
FLOW = flow_from_toml('stream = "gps"\nowner = "acme"\n[[parsers]]\nuse = "json"', file="t.toml")
PUBLISHED = PublishedFlows(version="1", flows=(FLOW,), artifacts=(ARTIFACT,))


def _found(folder: Path, rule: ParserRule) -> FoundProgram | NoParser:
    limits = LANE_LIMITS[Lane.FAST]
    programs = Programs(folders=Unpacked(folder), sandboxes=LoadsAll(), limits=limits)
    return programs.of_rule(PUBLISHED, FLOW, rule)


def test_options_that_no_parser_can_be_given_leave_a_rule_without_a_program(tmp_path: Path) -> None:
    found = _found(tmp_path, ParserRule(use="json", options={"text": "x" * 200_000}))

    assert isinstance(found, NoParser)
    assert found.reason is ParkedReason.PARSER_FAILED
    assert "options of json" in found.problem


def test_what_a_package_says_of_itself_is_left_to_its_own_child(tmp_path: Path) -> None:
    metadata = tmp_path / "tank-1.0.dist-info"
    metadata.mkdir()
    (metadata / "entry_points.txt").write_text("[fleetlane.parsers]\ntank = tank:Parser\n")
    (metadata / "METADATA").write_bytes(b"\xff\xfe")

    found = _found(tmp_path, ParserRule(use="tank==1.0"))

    assert isinstance(found, FoundProgram)
    assert found.parser == "tank@1.0"


def test_a_machine_without_room_counts_against_no_message_however_long() -> None:
    limits = LANE_LIMITS[Lane.FAST]
    programs = Programs(folders=FullDisk(), sandboxes=LoadsAll(), limits=limits)

    found = list[FoundProgram | NoParser]()
    for _ in range(2 * FETCHES_MAX):
        programs.forget()
        found.append(programs.of_rule(PUBLISHED, FLOW, ParserRule(use="tank==1.0")))

    assert all(isinstance(one, NoParser) and one.reason is None for one in found)


def test_an_owner_whose_parsers_take_too_long_to_load_waits_as_in_an_outage_and_no_other() -> None:
    others = flow_from_toml('stream = "b"\nowner = "b"\n[[parsers]]\nuse = "json"', file="b.toml")
    limits = LANE_LIMITS[Lane.FAST]
    programs = Programs(folders=FullDisk(), sandboxes=LoadsNoneOfAcme(), limits=limits)

    found = [programs.of_rule(PUBLISHED, flow, ParserRule(use="json")) for flow in (FLOW, others)]

    assert isinstance(found[0], NoParser)
    assert found[0].reason is None
    assert isinstance(found[1], FoundProgram)


def test_what_can_be_used_is_sought_again_where_other_flows_do_not_name_it(tmp_path: Path) -> None:
    folders = Unpacked(tmp_path)
    programs = Programs(folders=folders, sandboxes=LoadsAll(), limits=LANE_LIMITS[Lane.FAST])
    found = programs.of_rule(PUBLISHED, FLOW, ParserRule(use="tank==1.0"))

    again = list[bool]()
    for named in (None, [ARTIFACT], []):
        programs.forget(but=named)
        again.append(programs.of_rule(PUBLISHED, FLOW, ParserRule(use="tank==1.0")) is found)

    assert again == [True, True, False]


def test_an_owner_whose_artifacts_take_long_to_fetch_waits_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(Unpacked):
        def folder_of(self, artifact: FlowArtifact) -> Path:
            time.sleep(0.03)
            return super().folder_of(artifact)

    monkeypatch.setattr(f"{Programs.__module__}.FETCHING_S_MAX", 0.02)
    of_others = replace(ARTIFACT, owner="others")
    published = replace(PUBLISHED, artifacts=(ARTIFACT, of_others))
    limits = LANE_LIMITS[Lane.FAST]
    programs = Programs(folders=Slow(tmp_path), sandboxes=LoadsAll(), limits=limits)

    found = [
        programs.of_rule(published, flow, ParserRule(use="tank==1.0", options={"n": number}))
        for number, flow in enumerate((FLOW, FLOW, replace(FLOW, owner="others")))
    ]

    late = NoParser(problem="the artifacts of acme take too long to fetch")
    assert found[1] == late
    assert [isinstance(one, FoundProgram) for one in found] == [True, False, True]
