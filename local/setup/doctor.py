"""``fleetlane doctor``: what this machine lacks, and what to do; runs before anything is set up."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from typing import Callable

from local.setup.examination import LATER, MISSING, OK, Finding

MARKS = {OK: "ok     ", LATER: "later  ", MISSING: "MISSING"}


def tell(findings: Iterable[Finding], say: Callable[[str], None], *, as_json: bool) -> int:
    """Tell what was found, and return the exit code: 1 if a person has to do something."""
    told = []
    for finding in findings:
        told.append(finding)
        if not as_json:
            say(line_of(finding))
    if as_json:
        say(json.dumps([dataclasses.asdict(finding) for finding in told]))
    missing = [finding.name for finding in told if finding.state == MISSING]
    if not as_json:
        say(f"missing: {', '.join(missing)}" if missing else "nothing is missing")
    return 1 if missing else 0


def line_of(finding: Finding) -> str:
    remedy = f"; {finding.remedy}" if finding.remedy else ""
    return f"{MARKS[finding.state]} {finding.name:<11} {finding.said}{remedy}"
