import json
from collections.abc import Iterator

import pytest

from clients.s3.payload_bucket import payload_key
from fleetlane.events.lake.tables import TABLES
from fleetlane.events.lake.views import VIEW_PREFIX
from fleetlane.events.s3_keys import OVERRIDES, SPOOL
from fleetlane.events.topics import canonical_topic, platform_topics, unique_topic
from infra.constructs.kafka.access import CANONICAL_TOPICS, FLEET_TOPICS, RAW_TOPICS, UNIQUE_TOPICS
from tests.infra.synthesis import POLICIES, Resource, Synthesized

pytestmark = pytest.mark.cdk

PARSING = ("fast", "standard", "bulk", "slow")
APPLICATIONS = (*PARSING, "lake")

NAMELESS = {
    "cloudwatch:GetMetricData",
    "cloudwatch:ListMetrics",
    "cloudwatch:PutMetricData",  # only in certain namespaces: see below
    "ec2:AssignPrivateIpAddresses",
    "ec2:CreateNetworkInterface",
    "ec2:CreateTags",
    "ec2:DeleteNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeRouteTables",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSubnets",
    "ec2:DescribeVpcAttribute",
    "ec2:DescribeVpcEndpoints",
    "ec2:UnassignPrivateIpAddresses",
    "emr-serverless:ListApplications",
    "logs:CreateLogDelivery",
    "logs:DeleteLogDelivery",
    "logs:DescribeLogGroups",
    "logs:DescribeResourcePolicies",
    "logs:GetLogDelivery",
    "logs:ListLogDeliveries",
    "logs:PutResourcePolicy",
    "logs:UpdateLogDelivery",
    "xray:GetSamplingRules",
    "xray:GetSamplingTargets",
    "xray:PutTelemetryRecords",
    "xray:PutTraceSegments",
}
"""What AWS lets nobody narrow down to a resource."""

KEPT = ("canonical.*", "fleet.parsed", "fleet.received", "parked", "unique.*")
"""What the lake reads."""

CDKS_OWN = "CustomCDKBucketDeployment"
SECRETS = ("secret", "password", "token", "credential", "private")


def _statements(stage: Synthesized) -> Iterator[tuple[str, Resource]]:
    for kind in POLICIES:
        for name, policy in stage.resources(kind).items():
            for statement in policy["Properties"]["PolicyDocument"]["Statement"]:
                yield name, statement


def _listed(value: str | list[str]) -> list[str]:
    return value if isinstance(value, list) else [value]


def _of_role(stage: Synthesized, role: str) -> list[Resource]:
    return [statement for name, statement in _statements(stage) if name.startswith(role)]


def _kafka_topics(stage: Synthesized, role: str, action: str) -> set[str]:
    """What may be done to which topics: the last part of each ARN."""
    return {
        json.dumps(resource).rsplit("/", 1)[1].rstrip('"]}')
        for statement in _of_role(stage, role)
        if action in _listed(statement["Action"])
        for resource in _listed(statement["Resource"])
    }


def test_nobody_may_do_all_things_of_a_service(any_stage: Synthesized) -> None:
    wide = {
        (name, action)
        for name, statement in _statements(any_stage)
        for action in _listed(statement["Action"])
        if "*" in action and not name.startswith(CDKS_OWN)
    }

    assert wide == set()


def test_only_what_cannot_be_narrowed_down_is_allowed_on_all_resources(
    any_stage: Synthesized,
) -> None:
    wide = {
        action
        for _, statement in _statements(any_stage)
        for action in _listed(statement["Action"])
        if "*" in _listed(statement["Resource"])
    }

    assert wide <= NAMELESS


def test_metrics_are_written_in_our_namespace_and_the_engines_alone(
    cloud_stage: Synthesized,
) -> None:
    namespaces = [
        statement["Condition"]["StringEquals"]["cloudwatch:namespace"]
        for _, statement in _statements(cloud_stage)
        if "cloudwatch:PutMetricData" in _listed(statement["Action"])
    ]
    engines = ["Glue"] if cloud_stage.resources("AWS::Glue::Job") else []

    assert sorted(namespaces) == sorted(
        len(APPLICATIONS) * [f"Fleetlane/{cloud_stage.stage}", *engines]
    )


def test_no_function_receives_a_secret(any_stage: Synthesized) -> None:
    functions = any_stage.resources("AWS::Lambda::Function", of="ingest").values()
    names = {name for one in functions for name in one["Properties"]["Environment"]["Variables"]}

    assert names | {"API_URL", "AUDIENCE", "KEY_PARAMETER"} == {
        "API_URL",
        "AUDIENCE",
        "AUDIENCES",
        "FLOWS_BUCKET",
        "HARD_RATE_LIMIT_BYTES_PER_MINUTE",
        "HARD_RATE_LIMIT_PER_MINUTE",
        "KAFKA_BOOTSTRAP_SERVERS",
        "KAFKA_SECURITY",
        "KEY_PARAMETER",
        "OVERRIDES_BUCKET",
        "PAYLOAD_BUCKET",
        "POWERTOOLS_METRICS_NAMESPACE",
        "POWERTOOLS_TRACE_DISABLED",
        "RECEIPTS_TABLE",
        "REGISTRY_TABLE",
        "SOFT_RATE_LIMIT_BYTES_PER_MINUTE",
        "SOFT_RATE_LIMIT_PER_MINUTE",
        "SPOOL_BUCKET",
        "TOPIC_PARTITIONS",
        "TOPIC_REPLICATION",
        "REPLICAS_MAX",
        "UPLOAD_BYTES_MAX",
    }
    assert not [name for name in names if any(word in name.lower() for word in SECRETS)]


def test_kafka_is_used_as_the_stage_demands(local: Synthesized, dev: Synthesized) -> None:
    told = {
        one["Properties"]["Environment"]["Variables"].get("KAFKA_SECURITY")
        for stage in (local, dev)
        for one in stage.resources("AWS::Lambda::Function", of="ingest").values()
    }

    assert told == {"plaintext", "iam", None}  # the authorizer and uploads need no Kafka


def test_the_authorizer_reads_one_device_and_no_more(cloud_stage: Synthesized) -> None:
    actions = {
        action
        for statement in _of_role(cloud_stage, "authorizer")
        for action in _listed(statement["Action"])
        if not action.startswith("xray:")  # where requests are traced
    }

    assert actions == {
        "dynamodb:GetItem",
        "kms:Decrypt",
        "kms:GenerateDataKey",
        "logs:CreateLogStream",
        "logs:PutLogEvents",
    }


def test_ingest_looks_devices_up_and_keeps_receipts_and_no_more(cloud_stage: Synthesized) -> None:
    rights = [
        (_listed(statement["Action"]), "Registry" in json.dumps(statement["Resource"]))
        for statement in _of_role(cloud_stage, "ingestRole")
        if "dynamodb:" in str(statement["Action"])
    ]

    assert sorted(rights) == [
        (["dynamodb:BatchGetItem"], True),
        (["dynamodb:BatchGetItem", "dynamodb:BatchWriteItem"], False),
    ]


def test_ingest_may_put_bodies_and_the_spool_where_it_puts_them_and_nowhere_else(
    cloud_stage: Synthesized,
) -> None:
    folders = {
        json.dumps(resource).rsplit('"', 2)[1]
        for one in _of_role(cloud_stage, "ingestRole")
        if "s3:PutObject" in one["Action"]
        for resource in _listed(one["Resource"])
    }

    assert folders == {f"/{payload_key('')}*", f"/{SPOOL}*"}


def test_ingest_reads_the_overrides_where_they_are_and_writes_none(
    cloud_stage: Synthesized,
) -> None:
    allowed = {
        action
        for one in _of_role(cloud_stage, "ingestRole")
        if f"/{OVERRIDES}*" in json.dumps(one["Resource"])
        for action in _listed(one["Action"])
    }

    assert allowed == {"s3:GetObject"}


def test_one_application_holds_devices_back_by_the_overrides(cloud_stage: Synthesized) -> None:
    writers = {
        name
        for name in APPLICATIONS
        for one in _of_role(cloud_stage, f"{name}role")
        if f"/{OVERRIDES}*" in json.dumps(one["Resource"])
        and "s3:PutObject" in _listed(one["Action"])
    }

    assert writers == {"lake"}


def test_the_watch_changes_items_of_the_registry_and_neither_reads_nor_deletes_any(
    cloud_stage: Synthesized,
) -> None:
    rights = {
        (name, action)
        for name in APPLICATIONS
        for one in _of_role(cloud_stage, f"{name}role")
        for action in _listed(one["Action"])
        if action.startswith("dynamodb:")
    }

    assert rights == {("lake", "dynamodb:UpdateItem")}


def test_the_watch_changes_only_what_it_notes_of_a_device(cloud_stage: Synthesized) -> None:
    [condition] = [
        one["Condition"]
        for one in _of_role(cloud_stage, "lakerole")
        if "dynamodb:UpdateItem" in _listed(one["Action"])
    ]

    attributes = ["device_id", "last_seen_ms", "firmware"]
    assert condition["ForAllValues:StringEquals"] == {"dynamodb:Attributes": attributes}


def test_what_has_parsers_writes_to_s3_parked_bodies_and_its_own_checkpoints_alone(
    cloud_stage: Synthesized,
) -> None:
    written = {
        name: {
            json.dumps(resource).rsplit('"', 2)[1]
            for one in _of_role(cloud_stage, f"{name}role")
            if {"s3:PutObject", "s3:DeleteObject"} & set(_listed(one["Action"]))
            for resource in _listed(one["Resource"])
        }
        for name in PARSING
    }

    common = {"/parked/*", "/blocked/*", "/stop/"}
    for name, places in written.items():
        metadata = {"/fleet_metadata*"} if name == "standard" else set()
        own = {f"/parse_lane_{name}*"} | {f"/{one}/fleetlane-{name}" for one in ("stop", "started")}
        assert places == common | own | metadata


def test_an_application_deletes_only_below_a_prefix(cloud_stage: Synthesized) -> None:
    deleted = {
        json.dumps(resource).rsplit('"', 2)[1]
        for name in APPLICATIONS
        for one in _of_role(cloud_stage, f"{name}role")
        if "s3:DeleteObject" in _listed(one["Action"])
        for resource in _listed(one["Resource"])
    }

    assert "/tables/*" in deleted
    assert not {"/*", "*"} & deleted


def test_ingest_writes_raw_topics_and_reads_none(cloud_stage: Synthesized) -> None:
    assert _kafka_topics(cloud_stage, "ingestRole", "kafka-cluster:WriteData") == {"raw.*"}
    assert _kafka_topics(cloud_stage, "ingestRole", "kafka-cluster:ReadData") == set()


def test_respool_reads_rewrites_and_deletes_what_is_spooled_and_nothing_else_in_s3(
    cloud_stage: Synthesized,
) -> None:
    on_objects = [
        (sorted(_listed(one["Action"])), json.dumps(one["Resource"]).rsplit('"', 2)[1])
        for one in _of_role(cloud_stage, "respoolRole")
        if "s3:DeleteObject" in one["Action"] or "s3:GetObject" in one["Action"]
    ]

    actions = ["s3:AbortMultipartUpload", "s3:DeleteObject", "s3:GetObject", "s3:PutObject"]
    assert on_objects == [(actions, f"/{SPOOL}*")]
    assert _kafka_topics(cloud_stage, "respoolRole", "kafka-cluster:WriteData") == {"raw.*"}


def test_the_canary_may_read_its_own_key_and_nothing_else(dev: Synthesized) -> None:
    allowed = [
        (action, json.dumps(statement["Resource"]))
        for statement in _of_role(dev, "canaryRole")
        for action in _listed(statement["Action"])
        if not action.startswith("logs:")
    ]

    [(action, resource)] = allowed
    assert action == "ssm:GetParameter"
    assert resource.rstrip('"}]').endswith(":parameter/fleetlane/dev/canary-key")


def test_flow_activation_creates_topics_and_can_neither_change_nor_delete_one(
    cloud_stage: Synthesized,
) -> None:
    actions = {
        action
        for statement in _of_role(cloud_stage, "flowactivation")
        for action in _listed(statement["Action"])
        if action.startswith("kafka-cluster:")
    }
    created = _kafka_topics(cloud_stage, "flowactivation", "kafka-cluster:CreateTopic")

    assert actions == {
        "kafka-cluster:Connect",
        "kafka-cluster:CreateTopic",
        "kafka-cluster:DescribeCluster",
        "kafka-cluster:DescribeTopic",
    }
    assert created == {"canonical.*", "raw.*", "unique.*"}


def test_a_deploy_may_call_flow_activation_and_no_other_function(cloud_stage: Synthesized) -> None:
    called = [
        (_listed(statement["Action"]), resource)
        for statement in _of_role(cloud_stage, "FlowsRole")
        for resource in map(json.dumps, _listed(statement["Resource"]))
        if "logs:PutLogEvents" not in _listed(statement["Action"])
    ]

    assert {action for actions, _ in called for action in actions} == {
        "lambda:GetFunction",
        "lambda:InvokeFunction",
    }
    assert all("flowactivationFunction" in resource for _, resource in called)


def test_each_application_reads_its_own_lane_and_what_it_keeps_of_all(
    cloud_stage: Synthesized,
) -> None:
    read = {
        name: _kafka_topics(cloud_stage, f"{name}role", "kafka-cluster:ReadData")
        for name in APPLICATIONS
    }

    assert read == {
        "fast": {"raw.fast*", "fleet.heartbeats"},
        "standard": {"raw.*"},
        "bulk": {"raw.bulk*"},
        "slow": {"raw.slow*"},
        "lake": {"raw.*", *KEPT},
    }


def test_each_application_writes_what_comes_of_its_lane(cloud_stage: Synthesized) -> None:
    common = {"canonical.*", "fleet.parsed", "parked", "raw.slow*", "raw.*.block.*"}

    written = {
        name: _kafka_topics(cloud_stage, f"{name}role", "kafka-cluster:WriteData")
        for name in APPLICATIONS
    }

    assert written == {
        "fast": common | {"raw.bulk.large", "fleet.heartbeats"},
        "standard": common | {"raw.bulk.large", "fleet.received"},
        "bulk": common | {"raw.bulk.over*"},
        "slow": common,
        "lake": {"fleet.alerts", "unique.*"},
    }


def test_the_lake_and_its_catalog_are_one_applications(cloud_stage: Synthesized) -> None:
    may = {
        name: {
            action
            for one in _of_role(cloud_stage, f"{name}role")
            for action in _listed(one["Action"])
            if action.startswith("glue:") and action != "glue:GetConnection"
        }
        for name in APPLICATIONS
    }

    assert may["lake"] >= {"glue:CreateTable", "glue:UpdateTable"}
    assert not any("Delete" in action for action in may["lake"])
    assert not any(may[name] for name in PARSING)


def test_the_views_of_streams_are_distinguished_from_the_lakes_tables_by_their_names(
    cloud_stage: Synthesized,
) -> None:
    [resources] = [
        json.dumps(one["Resource"])
        for one in _of_role(cloud_stage, "lakerole")
        if "glue:CreateTable" in _listed(one["Action"])
    ]

    assert f"table/fleetlane_{cloud_stage.stage}/{VIEW_PREFIX}*" in resources
    assert not any(table.name.startswith(VIEW_PREFIX) for table in TABLES)


def test_an_application_may_learn_that_a_payload_is_missing(cloud_stage: Synthesized) -> None:
    [statement] = [
        statement
        for statement in _of_role(cloud_stage, "slowrole")
        if "s3:ListBucket" in _listed(statement["Action"])
    ]

    assert "GetAttPayloads" in json.dumps(statement["Resource"])


def test_the_patterns_of_rights_fit_the_topics_that_there_are() -> None:
    patterns = {
        RAW_TOPICS: "raw.",
        CANONICAL_TOPICS: "canonical.",
        FLEET_TOPICS: "fleet.",
        UNIQUE_TOPICS: "unique.",
    }
    topics = (*platform_topics(), canonical_topic("thermo"), unique_topic("thermo"))

    for pattern, prefix in patterns.items():
        assert pattern == f"{prefix}*"
        assert any(topic.startswith(prefix) for topic in topics)
