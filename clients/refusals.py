"""What devices were refused for, as the functions that answer them write it into their logs."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from clients.aws import asking
from fleetlane.events.errors import FleetlaneError

_ANSWER_S_MAX: Final = 60.0
_KINDS_MAX: Final = 1_000
"""So many are given: a device that declares a new firmware each time makes any number of them."""
_QUERY: Final = f"""
filter ispresent(Refused.0)
| stats sum(Refused.0) as messages by tag, stream, firmware, device_type
| sort messages desc
| limit {_KINDS_MAX}
"""


class RefusalsUnavailableError(FleetlaneError):
    """The functions' logs cannot be read now."""

    problem: str
    sentence = "what was refused cannot be read from the logs: {problem}"


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """Why a message was refused, and of whom; empty where its request did not say so."""

    tag: str
    stream: str = ""
    firmware: str = ""
    device_type: str = ""


class _About(msgspec.Struct):
    timestamp: int = msgspec.field(name="Timestamp")


class _Line(msgspec.Struct):
    about: _About = msgspec.field(name="_aws")
    refused: list[int] = msgspec.field(name="Refused")


def logged_refusals(log: Path, from_ms: int, to_ms: int) -> Mapping[Refusal, int]:
    """Messages by refusal, of the functions' own lines; raises ``RefusalsUnavailableError``."""
    counts = Counter[Refusal]()
    try:
        with log.open("rb") as lines:
            for line in lines:
                with suppress(msgspec.MsgspecError):  # something else that was printed
                    read = msgspec.json.decode(line, type=_Line)
                    if from_ms <= read.about.timestamp < to_ms:
                        counts[msgspec.json.decode(line, type=Refusal)] += sum(read.refused)
    except OSError as problem:
        raise RefusalsUnavailableError(str(problem)) from problem
    return dict(counts.most_common(_KINDS_MAX))


def stage_refusals(
    logs: Any, groups: Sequence[str], from_ms: int, to_ms: int
) -> Mapping[Refusal, int]:
    """The same of log groups, by a query of CloudWatch Logs Insights, for a minute at most.

    ``logs`` is boto3's client.
    """
    with asking(RefusalsUnavailableError):
        span = {"startTime": from_ms // 1_000, "endTime": to_ms // 1_000}
        query = logs.start_query(logGroupNames=[*groups], queryString=_QUERY, **span)["queryId"]
        give_up_s = time.monotonic() + _ANSWER_S_MAX
        while (found := logs.get_query_results(queryId=query))["status"] != "Complete":
            if found["status"] not in ("Scheduled", "Running") or time.monotonic() > give_up_s:
                raise RefusalsUnavailableError(f"query {query} is {found['status']}")
            time.sleep(0.5)
    rows = [{one["field"]: one["value"] for one in row} for row in found["results"]]
    return {msgspec.convert(row, Refusal): int(float(row["messages"])) for row in rows}
