"""A payload must outlive every record that refers to it."""

from typing import Final

from fleetlane.events.lanes import Lane
from fleetlane.events.topics import RawTopic, topic_settings
from infra.stages import BadStageError, Stage

_DAY_MS: Final = 24 * 60 * 60 * 1000

UPLOAD_QUEUE_DAYS: Final = 1
DEAD_LETTER_DAYS: Final = 5
"""Together the longest that a notification of S3 can wait, in its queue and as a dead letter."""

SPOOL_DAYS: Final = 2
"""How long a record may wait in the spool for Kafka. The spool itself has no expiry."""


def days_on_the_way() -> int:
    """The longest that a payload may have to be there.

    Its notification can wait before its record lands. The record can wait in the spool, wait out
    its own lane's retention, then that of the slow lane where it is diverted to.
    """
    longest_ms = max(topic_settings(str(RawTopic(lane=lane))).retention_ms for lane in Lane)
    slow_ms = topic_settings(str(RawTopic(lane=Lane.SLOW))).retention_ms
    return -(-(longest_ms + slow_ms) // _DAY_MS) + SPOOL_DAYS + DEAD_LETTER_DAYS


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
