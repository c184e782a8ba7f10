"""The regular expressions, Python's and Java's alike, by which queries and readers find topics."""

import re
from collections.abc import Sequence
from functools import lru_cache

from fleetlane.events.lanes import Lane
from fleetlane.events.names import NAME_PATTERN, checked_name
from fleetlane.events.topics import BULK_CAUSES, FLEET_PARSED, PARKED


def lane_pattern(lane: Lane) -> str:
    """The regular expression (Python's and Java's) of what the shared query of a lane reads.

    The bulk lane has a query a cause instead.
    """
    return rf"raw\.{lane}(\.(stream|type)\.{NAME_PATTERN})?"


def over_pattern(lane: Lane) -> str:
    """The same of what exceeded its flow's budget, in the bulk or the slow lane."""
    causes = rf"\.({BULK_CAUSES})" if lane is Lane.BULK else ""
    return rf"raw\.{lane}\.over{causes}"


def raw_pattern(*lanes: Lane) -> str:
    """The same of all raw topics of these lanes: of blocking flows too."""
    return _of_lanes(lanes, rf"\.(stream|type|block)\.{NAME_PATTERN}")


@lru_cache(maxsize=1024)
def lane_of(topic: str) -> Lane | None:
    """The lane of a raw topic; ``None`` of any other."""
    return next((lane for lane in Lane if re.fullmatch(raw_pattern(lane), topic)), None)


def stream_pattern(stream: str) -> str:
    """The same of all raw topics, of any lane, that a stream's messages may be in."""
    own = checked_name(stream, kind="stream")
    of_stream = rf"\.(stream|block)\.{own}|\.type\.{NAME_PATTERN}"
    return _of_lanes(tuple(Lane), of_stream, blocking=own)


def _of_lanes(lanes: Sequence[Lane], own: str, *, blocking: str = NAME_PATTERN) -> str:
    """Of lanes: their shared topics, and flows' own. Bulk topics are by cause, or of one flow."""
    others = [lane for lane in lanes if lane is not Lane.BULK]
    patterns = [rf"raw\.({'|'.join(others)})({own})?"] if others else []
    if Lane.SLOW in others:
        patterns.append(over_pattern(Lane.SLOW))
    if len(others) < len(lanes):
        patterns.append(rf"raw\.{Lane.BULK}((\.over)?\.({BULK_CAUSES})|\.block\.{blocking})")
    return "|".join(patterns)


def canonical_pattern(stream: str | None = None) -> str:
    """The same of the canonical topics of all flows, or of one stream's."""
    own = NAME_PATTERN if stream is None else checked_name(stream, kind="stream")
    return rf"canonical\.{own}"


def unique_pattern() -> str:
    """The same of the topics without repeats of all flows that have one."""
    return rf"unique\.{NAME_PATTERN}"


def output_pattern(blocking_stream: str | None = None) -> str:
    """The same of where messages of a lane, or of a blocking flow, end: not of other lanes'."""
    return f"{canonical_pattern(blocking_stream)}|{FLEET_PARSED}|{PARKED}"
