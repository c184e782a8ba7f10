"""Whether the parsers' jail holds on this machine, asked before any parser runs here."""

import logging
from collections.abc import Mapping

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.job_arguments import Sandbox

_log = logging.getLogger(__name__)


class JailOpenError(FleetlaneError):
    """A part of the jail is missing or does not hold, and the stage requires all of it."""

    problem: str
    sentence = (
        "the parsers' jail is incomplete: {problem}. With `sandbox = required` no parser runs here;"
        " `available` in infra/stages.py lets them run with an alarm"
    )


def checked(problems: Mapping[str, str], sandbox: Sandbox) -> int:
    """Log and count what is missing or open; raises ``JailOpenError`` where all is required."""
    for part, problem in problems.items():
        _log.error("the parsers' jail: part %s does not hold: %s", part, problem)
    if problems and sandbox is Sandbox.REQUIRED:
        raise JailOpenError("; ".join(f"{part}: {text}" for part, text in problems.items()))
    return len(problems)
