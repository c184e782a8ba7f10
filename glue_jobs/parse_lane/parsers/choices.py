"""What a message is parsed with, or why it is not."""

from dataclasses import dataclass

from fleetlane.events.errors import ParkedReason
from fleetlane.events.flows.flow import Flow
from fleetlane.events.metadata import Deferral
from fleetlane.parsers.sandbox.runs import Assignment, Program


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenParser:
    """What a message is to be parsed with, and the flow whose rules its events are written by.

    ``instead_of`` is the parser of the current flow, where that is broken and an older one is used.
    """

    program: Program
    assignment: Assignment
    instead_of: str | None = None
    accepts_buffer: bool = False

    @property
    def flow(self) -> Flow:
        return self.assignment.flow


@dataclass(frozen=True, slots=True, kw_only=True)
class NoParser:
    """Why messages of a ``flow`` have no parser; without a ``reason`` there is a ``deferral``."""

    problem: str
    flow: Flow | None = None
    reason: ParkedReason | None = None
    deferral: Deferral = Deferral.PARSER_UNAVAILABLE


type Choice = ChosenParser | NoParser
