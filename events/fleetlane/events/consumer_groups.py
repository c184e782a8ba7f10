"""Consumer groups in which Kafka's own tools see how far each query has read."""

import re
from typing import Final

MIRRORED_GROUPS: Final = "fleetlane-"
"""What the names of all of them begin with."""


def mirrored_group(query: str) -> str:
    """Name the group of a query: ``fleetlane-parse-fast`` of ``parse_lane_fast``.

    Spark keeps a query's offsets in its checkpoint, and no group has members: these are told of it.
    """
    return MIRRORED_GROUPS + query.replace("parse_lane", "parse", 1).replace("_", "-")


def seen_note(seen_ms: int) -> str:
    """The note beside a group's offsets: when its query was last seen alive."""
    return f"{seen_ms};"


def seen_from(note: str) -> int | None:
    """Read the note; librdkafka may give more behind it than was ever written."""
    found = re.match(r"([0-9]{1,15});", note)
    return None if found is None else int(found[1])
