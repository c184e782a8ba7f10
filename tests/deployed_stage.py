"""A deployed stage as commands find it: its parameter in moto's SSM, its lake in moto's Glue."""

from typing import Any

import boto3
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.catalog.sql import SqlCatalog

from fleetlane.events.job_arguments import KafkaSecurity
from fleetlane.events.lake.tables import CATALOG, NAMESPACE
from fleetlane.events.stage_resources import StageResources, parameter_name

STAGE = "dev"
REGION = "us-east-1"


def use_region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)


def write_stage(**names: str) -> None:
    """Write the resources of ``dev``; names that are not given are of nothing."""
    given: dict[str, Any] = {
        "api_url": "https://api.example/v/",
        "devices_table": "devices",
        "flows_bucket": "artifacts",
        "overrides_bucket": "artifacts",
        "payload_bucket": "payloads",
        "parked_bucket": "parked",
        "lake_bucket": "lake",
        "flow_activation_function": "activation",
        **names,
    }
    resources = StageResources(
        stage=STAGE,
        region=REGION,
        kafka_bootstrap_servers="127.0.0.1:9",
        kafka_security=KafkaSecurity.PLAINTEXT,
        **given,
    )
    ssm: Any = boto3.client("ssm", region_name=REGION)
    ssm.put_parameter(Name=parameter_name(STAGE), Type="String", Value=resources.to_json())


def register_lake(lake: SqlCatalog) -> None:
    """Make the tables of a lake in a folder known to Glue."""
    glue = load_catalog(CATALOG, type="glue")
    glue.create_namespace(NAMESPACE)
    for identifier in lake.list_tables(NAMESPACE):
        glue.register_table(identifier, lake.load_table(identifier).metadata_location)
