"""Tests of what forks Spark's Python workers on a laptop."""

import subprocess
import sys

from local.spark.worker_daemon import OF_WORKERS, WITHOUT_THREADS

COUNTED = """
import importlib, os, sys
for module in sys.argv[1:]:
    importlib.import_module(module)
print(len(os.listdir("/proc/self/task")))
"""


def test_what_it_imports_begins_no_thread_that_a_fork_would_lose() -> None:
    command = [sys.executable, "-c", COUNTED, *OF_WORKERS]

    counted = subprocess.run(command, env=WITHOUT_THREADS, capture_output=True, check=True)

    assert counted.stdout.strip() == b"1"
