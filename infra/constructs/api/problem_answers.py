"""Errors that API Gateway answers itself, as the same RFC 9457 problems that our functions give."""

import json
import tomllib
from http import HTTPStatus
from pathlib import Path
from typing import Final

from fleetlane.events.errors import ProblemTag

PROBLEM_CONTENT_TYPE: Final = "application/problem+json"
RETRY_AFTER_S: Final = {ProblemTag.SLOW_DOWN: 2, ProblemTag.TRY_LATER: 5, "WAF_FILTERED": 300}
"""Where a retry can succeed; the firewall counts an address's requests over five minutes."""

PROBLEMS: Final = {
    kind: (ProblemTag[answer["tag"]], answer["detail"])
    for answer in tomllib.loads(Path(__file__).with_suffix(".toml").read_text())["answers"]
    for kind in answer["kinds"]
}
"""What each kind of error is, by API Gateway's name for it."""


def problem_body(tag: ProblemTag, detail: str) -> str:
    kind, title = f"urn:fleetlane:problem:{tag}", HTTPStatus(tag.status).phrase
    return json.dumps({"type": kind, "title": title, "status": int(tag.status), "detail": detail})
