"""What a Python worker of Spark has loaded is left out of its garbage collections."""

import subprocess
import sys

WORKER = """
import gc
from fleetlane.events.job_arguments import KafkaSecurity, ParseLaneArguments
from fleetlane.events.lanes import Lane
from glue_jobs.parse_lane.parse import lane_parser_of

arguments = ParseLaneArguments(
    kafka_bootstrap_servers="127.0.0.1:9",
    kafka_security=KafkaSecurity.PLAINTEXT,
    checkpoint_folder="file:///nowhere",
    lane=Lane.STANDARD,
    flows_bucket="flows",
    payload_bucket="payloads",
    parked_bucket="parked",
)
loaded = len(gc.get_objects())
lane_parser_of(arguments)
print(loaded, len(gc.get_objects()))
"""


def test_collections_between_tasks_do_not_look_at_what_a_worker_has_loaded() -> None:
    variables = {"AWS_DEFAULT_REGION": "eu-central-1", "PATH": "/usr/bin:/bin"}

    done = subprocess.run(
        [sys.executable, "-c", WORKER], env=variables, capture_output=True, text=True, check=True
    )

    loaded, looked_at = map(int, done.stdout.split())
    assert looked_at < loaded / 100
