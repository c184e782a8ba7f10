"""From a flow's rule to the program that a child runs: fetched if need be, and loaded once."""

import time
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

import orjson

from clients.flows.parser_store import ArtifactUnavailableError
from fleetlane.events.errors import ParkedReason
from fleetlane.events.flows.artifacts import OPTIONS_BYTES_MAX, FlowArtifact, is_of_a_team
from fleetlane.events.flows.files import PublishedFlows
from fleetlane.events.flows.flow import Flow, ParserRule
from fleetlane.events.lanes import LaneLimits
from fleetlane.events.token_bucket import TokenBucket
from fleetlane.parsers.registry import find_parser
from fleetlane.parsers.sandbox.platforms import ParsesRuns
from fleetlane.parsers.sandbox.runs import Program
from glue_jobs.parse_lane.parsers.choices import NoParser
from glue_jobs.parse_lane.parsers.parser_folders import ParserFolders

FETCHING_S_MAX: Final = 20.0
"""So long an owner's artifacts may take to be fetched, checked and compiled, the last one apart; a
tenth of all time comes back."""

FOUND_MAX: Final = 10_000
FETCHES_MAX: Final = 3
"""So often in a row S3 may fail to give an artifact before that is no outage any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundProgram:
    """A program that can be used, or ``problem`` says why not. ``parser`` is ``name@version``."""

    program: Program
    parser: str
    problem: str | None = None
    accepts_buffer: bool = False


type _Key = tuple[str, str, bytes, FlowArtifact | None]


class Programs:
    """Finds programs, and remembers what it found, until ``forget``."""

    def __init__(
        self, *, folders: ParserFolders, sandboxes: ParsesRuns, limits: LaneLimits
    ) -> None:
        self._folders, self._sandboxes, self._limits = folders, sandboxes, limits
        self._found: dict[_Key, FoundProgram | NoParser] = {}
        self._not_given: dict[str, NoParser] = {}
        self._not_given_in_a_row = Counter[str]()
        self._fetching = TokenBucket.by_name(burst=FETCHING_S_MAX, per_s=0.1)

    def forget(self, *, but: Collection[FlowArtifact] | None = None) -> None:
        """What can be used has been checked, all of its files: that is costly to do again.

        Of the programs that can be used, forget those of a team's artifact that is not in ``but``.
        """
        self._found = {k: v for k, v in self._found.items() if not v.problem}
        self._not_given.clear()
        if but is not None:
            named = {*but} if len(self._found) < FOUND_MAX else set()
            self._found = {k: v for k, v in self._found.items() if k[-1] in named}
            self._folders.release_all(but=but)

    def of_rule(
        self, published: PublishedFlows, flow: Flow, rule: ParserRule
    ) -> FoundProgram | NoParser:
        """The program of a rule, or why there is none; blocks while it is fetched and loaded.

        Without a reason that is an outage: there may be one later.
        """
        options = orjson.dumps(rule.options, option=orjson.OPT_SORT_KEYS)
        if len(options) > OPTIONS_BYTES_MAX:
            found = f"{len(options)} bytes; the limit is {OPTIONS_BYTES_MAX} bytes"
            return _unusable(f"options of {rule.use} have {found}")
        key = flow.owner, rule.use, options, published.by_use.get((flow.owner, rule.use))
        if key not in self._found:
            self._found[key] = self._sought(*key)
        return self._found[key]

    def _sought(
        self, owner: str, use: str, options: bytes, artifact: FlowArtifact | None
    ) -> FoundProgram | NoParser:
        if is_of_a_team(use) and artifact is None:
            return _unusable(f"the published flows name no artifact of {use}")
        try:
            folder = None if artifact is None else self._folder_of(artifact)
            if isinstance(folder, NoParser):
                return folder
            # What a package says of itself its own child reads, within limits.
            parser = use.replace("==", "@") if folder else find_parser(use).identifier
        except Exception as problem:  # noqa: BLE001 - an artifact may be broken in any way
            return _unusable(f"{type(problem).__name__}: {problem}")
        program = Program(
            use=use,
            options=options,
            memory_bytes_max=self._limits.memory_bytes_max,
            location=folder,
            niceness=self._limits.niceness,
        )
        loaded = self._sandboxes.loaded(program, owner)
        if loaded.is_deferred:
            return NoParser(problem=str(loaded.problem))
        return FoundProgram(
            program=program,
            parser=parser,
            problem=loaded.problem,
            accepts_buffer=loaded.accepts_buffer,
        )

    def _folder_of(self, artifact: FlowArtifact) -> str | NoParser:
        """Where an artifact is. One that S3 did not give is not waited for again by others."""
        name, began_s = artifact.sha256, time.monotonic()
        if name in self._not_given:
            return self._not_given[name]
        if self._fetching[artifact.owner].left_at(began_s) < 0:
            late = f"the artifacts of {artifact.owner} take too long to fetch"
            return NoParser(problem=late)
        try:
            folder = str(self._folders.folder_of(artifact))
        except ArtifactUnavailableError as problem:
            self._not_given[name] = missing = self._missing(artifact, problem)
            return missing
        finally:
            now_s = time.monotonic()
            self._fetching[artifact.owner].overdraw(now_s, now_s - began_s)
        self._not_given_in_a_row.pop(name, None)
        return folder

    def _missing(self, artifact: FlowArtifact, problem: ArtifactUnavailableError) -> NoParser:
        """An outage, or a full disk, is no flow's fault; an object that S3 never gives is."""
        is_of_system = getattr(problem.__cause__, "errno", None) is not None  # of no call to S3
        is_s3_there = not is_of_system and self._folders.store.answers(artifact)
        self._not_given_in_a_row[artifact.sha256] += is_s3_there
        is_never_given = self._not_given_in_a_row[artifact.sha256] >= FETCHES_MAX
        is_outage = not (is_s3_there and is_never_given)
        return NoParser(problem=str(problem)) if is_outage else _unusable(str(problem))


def _unusable(problem: str) -> NoParser:
    return NoParser(problem=problem, reason=ParkedReason.PARSER_FAILED)
