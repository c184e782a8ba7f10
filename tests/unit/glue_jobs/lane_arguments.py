"""Arguments of a lane's job where nothing answers."""

from typing import Any

from fleetlane.events.job_arguments import KafkaSecurity, ParseLaneArguments
from fleetlane.events.lanes import Lane


def lane_arguments(lane: Lane, **more: Any) -> ParseLaneArguments:
    return ParseLaneArguments(
        kafka_bootstrap_servers="127.0.0.1:9",
        kafka_security=KafkaSecurity.PLAINTEXT,
        checkpoint_folder="file:///nowhere",
        lane=lane,
        flows_bucket="flows",
        payload_bucket="payloads",
        parked_bucket="parked",
        **more,
    )
