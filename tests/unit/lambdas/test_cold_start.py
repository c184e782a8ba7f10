"""What a function loads before its first request: counted, for a time would differ each time."""

import json
import socket
import subprocess
import sys
from functools import cache

import pytest

from local.checkout import ROOT

IMPORTED = """
import importlib, json, sys
importlib.import_module(sys.argv[1])
print(json.dumps(sorted(sys.modules)))
"""

OF_OTHERS = ("aws_cdk", "glue_jobs", "infra", "local", "moto", "numpy", "pandas", "pyarrow",
             "pyspark", "pytest", "rich", "starlette", "typer", "uvicorn")  # fmt: skip
"""Of the jobs, the laptop, the command line, the tests."""

FORBIDDEN = {
    "authorizer": (*OF_OTHERS, "asyncio", "confluent_kafka", "fleetlane.parsers", "msgspec"),
    "ingest": (
        *OF_OTHERS,
        "aws_lambda_powertools.event_handler",  # only once anything but a message comes
        "aws_msk_iam_sasl_signer",  # only once it logs in to MSK
        "cryptography",
        "fleetlane.parsers",
        "jwt",
    ),
}
MODULES_MAX = {"authorizer": 560, "ingest": 632}
"""A tenth over what there is: whoever needs more says so here."""


@cache
def imported_by(function: str) -> frozenset[str]:
    command = [sys.executable, "-c", IMPORTED, f"lambdas.{function}.handler"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return frozenset(json.loads(done.stdout))


@pytest.mark.parametrize("function", FORBIDDEN)
def test_boto3_is_there_before_the_first_request(function: str) -> None:
    assert "boto3.session" in imported_by(function)


def test_ingest_connects_to_kafka_before_its_first_request() -> None:
    buckets = ("FLOWS", "OVERRIDES", "PAYLOAD", "SPOOL")
    with socket.create_server(("127.0.0.1", 0)) as broker:
        settings = {
            **{f"{name}_BUCKET": "none" for name in buckets},
            "KAFKA_BOOTSTRAP_SERVERS": f"127.0.0.1:{broker.getsockname()[1]}",
            "KAFKA_SECURITY": "plaintext",
            "RECEIPTS_TABLE": "none",
            "REGISTRY_TABLE": "none",
            "AWS_DEFAULT_REGION": "eu-central-1",
        }
        importing = [sys.executable, "-c", "import lambdas.ingest.start"]
        subprocess.run(importing, check=True, cwd=ROOT, env=settings, timeout=120)

        broker.settimeout(1)
        connection, _ = broker.accept()

    connection.close()


@pytest.mark.parametrize("function", FORBIDDEN)
def test_a_function_loads_nothing_that_it_does_not_need(function: str) -> None:
    loaded = imported_by(function)

    assert [name for name in FORBIDDEN[function] if name in loaded] == []


@pytest.mark.parametrize("function", MODULES_MAX)
def test_a_function_loads_no_more_modules_than_its_budget(function: str) -> None:
    modules = len(imported_by(function))

    assert modules <= MODULES_MAX[function]
