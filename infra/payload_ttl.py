"""How long a payload must live: longer than the records that refer to it."""

from typing import Final

from fleetlane.events.lanes import Lane
from fleetlane.events.topics import RawTopic, topic_settings
from infra.stages import BadStageError, Stage

_DAY_MS: Final = 24 * 60 * 60 * 1000

REDRIVE_DAYS: Final = 5
"""A notification of S3 that waits for its queue, its dead letters, and somebody to redrive them."""

SPOOL_DAYS: Final = 2
"""A record that waits in the spool until Kafka takes it again. The spool itself has no expiry."""


def days_on_the_way() -> int:
    """The longest that a record may still refer to a payload after it landed.

    It can wait in the spool, wait out its own lane's retention, then that of the slow lane where
    it is diverted to.
    """
    longest_ms = max(topic_settings(str(RawTopic(lane=lane))).retention_ms for lane in Lane)
    slow_ms = topic_settings(str(RawTopic(lane=Lane.SLOW))).retention_ms
    return -(-(longest_ms + slow_ms) // _DAY_MS) + SPOOL_DAYS + REDRIVE_DAYS


def check_payload_ttl(stage: Stage) -> None:
    """Refuse a stage whose payloads may expire before they are read.

    Raises:
        BadStageError: The TTL is no longer than the sum of all retentions on a payload's way.
    """
    needed = days_on_the_way()
    if stage.payload_ttl_days <= needed:
        problem = (
            f"is {stage.payload_ttl_days} days, but a record may refer to a payload for {needed}; "
            f"raise it to {needed + 1} or more"
        )
        raise BadStageError(stage.name, "payload_ttl_days", problem)
