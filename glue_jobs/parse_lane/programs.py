"""From a flow's rule to the program that a child runs: fetched if need be, and loaded once."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import orjson

from clients.parser_store import (
    ArtifactChangedError,
    ArtifactMissingError,
    ArtifactUnavailableError,
)
from fleetlane.events.artifact_manifest import BadArtifactError
from fleetlane.events.flow_artifacts import FlowArtifact, is_of_a_team
from fleetlane.events.flow_files import PublishedFlows
from fleetlane.events.flows import Flow, ParserRule
from fleetlane.parsers.registry import UnknownParserError, find_parser
from fleetlane.parsers.sandbox.runs import Program

_BROKEN = (ArtifactMissingError, ArtifactChangedError, BadArtifactError, UnknownParserError)


class HoldsFolders(Protocol):
    """Puts artifacts into folders; raises as ``ParserFolders`` does."""

    def folder_of(self, artifact: FlowArtifact) -> Path: ...

    def release_all(self) -> None: ...


class LoadsPrograms(Protocol):
    """Has a program loaded, and says what comes in its way, or what its parser takes."""

    def load_problem(self, program: Program) -> str | None: ...

    def accepts_buffer(self, program: Program) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundProgram:
    """A program that can be used, or ``problem`` says why not. ``parser`` is ``name@version``."""

    program: Program
    parser: str
    problem: str | None = None
    accepts_buffer: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingProgram:
    """There is no program. An outage is nobody's fault: it may be had later."""

    problem: str
    is_outage: bool = False


type _Key = tuple[str, bytes, FlowArtifact | None]


class Programs:
    """Finds programs, and remembers what it found, until ``forget``."""

    def __init__(
        self, *, folders: HoldsFolders, sandboxes: LoadsPrograms, memory_bytes_max: int
    ) -> None:
        self._folders, self._sandboxes = folders, sandboxes
        self._memory_bytes_max = memory_bytes_max
        self._found: dict[_Key, FoundProgram | MissingProgram] = {}

    def forget(self) -> None:
        """Look anew for everything, and let go of the artifacts."""
        self._found.clear()
        self._folders.release_all()

    def of_rule(
        self, published: PublishedFlows, flow: Flow, rule: ParserRule
    ) -> FoundProgram | MissingProgram:
        """The program of a rule; blocks while its artifact is fetched and loaded."""
        options = orjson.dumps(rule.options, option=orjson.OPT_SORT_KEYS)
        key = rule.use, options, published.artifact(flow.owner, rule.use)
        if key not in self._found:
            self._found[key] = self._sought(*key)
        return self._found[key]

    def _sought(
        self, use: str, options: bytes, artifact: FlowArtifact | None
    ) -> FoundProgram | MissingProgram:
        if is_of_a_team(use) and artifact is None:
            return MissingProgram(problem=f"the published flows name no artifact of {use}")
        try:
            folder = None if artifact is None else str(self._folders.folder_of(artifact))
            parser = find_parser(use, None if folder is None else [folder])
        except _BROKEN as problem:
            return MissingProgram(problem=f"{type(problem).__name__}: {problem}")
        except ArtifactUnavailableError as problem:
            return MissingProgram(problem=str(problem), is_outage=True)
        program = Program(
            use=use,
            options=options,
            memory_bytes_max=self._memory_bytes_max,
            location=folder,
        )
        load_problem = self._sandboxes.load_problem(program)
        return FoundProgram(
            program=program,
            parser=parser.identifier,
            problem=load_problem,
            accepts_buffer=load_problem is None and self._sandboxes.accepts_buffer(program),
        )
