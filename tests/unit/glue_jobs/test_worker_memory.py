"""What a Python worker of Spark has loaded is left out of its garbage collections."""

import subprocess
import sys

WORKER = """
import gc
from fleetlane.events.job_arguments import KafkaSecurity, ParseLaneArguments
from fleetlane.events.lanes import Lane
from glue_jobs.parse_lane.parse import parsing

arguments = ParseLaneArguments(
    kafka_bootstrap_servers="127.0.0.1:9",
    kafka_security=KafkaSecurity.PLAINTEXT,
    checkpoint_folder="file:///nowhere",
    lane=Lane.STANDARD,
    flows_bucket="flows",
    payload_bucket="payloads",
    parked_bucket="parked",
)
parse = parsing(arguments)
kept = []
for task in range(2):
    kept += [[] for _ in range(task * 10_000)]
    loaded = len(gc.get_objects())
    list(parse([]))
    print(loaded, len(gc.get_objects()))
"""


def test_collections_between_tasks_do_not_look_at_what_a_worker_has_loaded_however_late() -> None:
    variables = {"AWS_DEFAULT_REGION": "eu-central-1", "PATH": "/usr/bin:/bin"}

    done = subprocess.run(
        [sys.executable, "-c", WORKER], env=variables, capture_output=True, text=True, check=True
    )

    at_first, later = (tuple(map(int, line.split())) for line in done.stdout.splitlines())
    assert at_first[1] < at_first[0] / 100
    assert later[1] < later[0] / 100
