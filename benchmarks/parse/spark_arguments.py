"""Arguments of the Spark contenders that are no jobs of ours."""

from dataclasses import dataclass

from fleetlane.events.job_arguments import JobArguments
from fleetlane.events.lanes import LANE_LIMITS, Lane


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkArguments(JobArguments):
    """What they have in common with the job in the standard lane."""

    loops: int = 0
    trigger_ms: int = LANE_LIMITS[Lane.STANDARD].trigger_ms
    messages_per_batch_max: int = LANE_LIMITS[Lane.STANDARD].messages_per_batch_max
