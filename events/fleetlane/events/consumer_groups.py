"""Consumer groups in which Kafka's own tools see how far each query has read."""

from typing import Final

MIRRORED_GROUPS: Final = "fleetlane-"
"""What the names of all of them begin with."""


def mirrored_group(query: str) -> str:
    """Name the group of a query: ``fleetlane-parse-fast`` of ``parse_lane_fast``.

    Spark keeps a query's offsets in its checkpoint, and no group has members: these are told of it.
    """
    return MIRRORED_GROUPS + query.replace("parse_lane", "parse", 1).replace("_", "-")
