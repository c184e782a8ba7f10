"""Why a set-up stops, in one sentence: what is missing, and what to do."""

from __future__ import annotations

import re
from dataclasses import dataclass


class CannotSetUpError(Exception):
    """Something needed is not there. Running again is safe: nothing half-made counts as made."""

    def __init__(self, missing: str, remedy: str) -> None:
        super().__init__(missing, remedy)
        self.missing, self.remedy = missing, remedy

    def __str__(self) -> str:
        return f"{self.missing}; {self.remedy}."


@dataclass(frozen=True)
class KnownCause:
    """What a tool prints when it fails for this cause, and how to say it to a person."""

    pattern: re.Pattern[str]
    missing: str
    remedy: str


def _cause(pattern: str, missing: str, remedy: str) -> KnownCause:
    return KnownCause(re.compile(pattern, re.IGNORECASE), missing, remedy)


# The first that matches wins: a tool that found no Python also says that it could not fetch one.
KNOWN_CAUSES = (
    _cause(
        r"no space left on device",
        "the disk is full",
        "free about 4 GB and run the same command again",
    ),
    _cause(
        r"lockfile .*needs to be updated",
        "uv.lock does not match the pyproject.toml files",
        "run `uv lock` and run the same command again",
    ),
    _cause(
        r"no interpreter found for|failed to (download|install) .*cpython|python-build-standalone",
        "Python 3.13 is missing and could not be downloaded",
        "install it (any way that puts python3.13 on PATH) and run the same command again",
    ),
    _cause(
        r"no module named pip\b",
        "pip is missing for this python3",
        "install it (on Debian and Ubuntu: apt install python3-pip) and run the same command again",
    ),
    _cause(
        r"dns error|name resolution|name or service not known|nodename nor servname|unknownhost"
        r"|connection (refused|reset|timed out|aborted)|(connect|read) timed out"
        r"|network is unreachable|no route to host"
        r"|error sending request|failed to fetch|server access error|from versions: none",
        "a package registry could not be reached",
        "check the network and run the same command again, which goes on where it stopped",
    ),
)


def cause_of(output: str) -> KnownCause | None:
    """The cause that a failed tool's output tells of, if it is one that we know."""
    return next((cause for cause in KNOWN_CAUSES if cause.pattern.search(output)), None)
