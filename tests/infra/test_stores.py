import base64
import json
from collections.abc import Iterator

import pytest

from fleetlane.events.topics import platform_topics, topic_settings
from infra.constructs.stores.stores import days_on_the_way
from tests.infra.synthesis import Resource, Synthesized

pytestmark = pytest.mark.cdk

KEPT = {
    "AWS::DynamoDB::Table",
    "AWS::KMS::Key",
    "AWS::MSK::Cluster",
    "AWS::MSK::Topic",
    "AWS::S3::Bucket",
}


def _buckets(stage: Synthesized) -> dict[str, Resource]:
    return stage.resources("AWS::S3::Bucket")


def _bucket(stage: Synthesized, name: str) -> Resource:
    [bucket] = [one for key, one in _buckets(stage).items() if key.startswith(name)]
    properties: Resource = bucket["Properties"]
    return properties


def _table(stage: Synthesized, name: str) -> Resource:
    tables = stage.resources("AWS::DynamoDB::Table")
    [table] = [one["Properties"] for key, one in tables.items() if key.startswith(name)]
    properties: Resource = table
    return properties


def _rules_that_expire(bucket: Resource) -> list[int]:
    rules = bucket.get("LifecycleConfiguration", {}).get("Rules", [])
    return [rule["ExpirationInDays"] for rule in rules if "ExpirationInDays" in rule]


def test_payloads_expire_after_every_record_that_may_refer_to_them(any_stage: Synthesized) -> None:
    [days] = _rules_that_expire(_bucket(any_stage, "Payloads"))

    assert days > days_on_the_way()


def test_nothing_else_that_was_landed_expires(any_stage: Synthesized) -> None:
    kept = ("Parked", "Spool", "Artifacts", "Checkpoints")

    expiring = {name: _rules_that_expire(_bucket(any_stage, name)) for name in kept}

    assert expiring == {name: [] for name in kept}


def test_of_the_lake_only_archived_bodies_expire_and_later_than_their_rows(
    any_stage: Synthesized,
) -> None:
    rules = _bucket(any_stage, "Lake")["LifecycleConfiguration"]["Rules"]
    expiring = [(one["Prefix"], one["ExpirationInDays"]) for one in rules if "Prefix" in one]

    assert expiring == [("archive/", 98)]
    assert _rules_that_expire(_bucket(any_stage, "Lake")) == [98]


@pytest.mark.parametrize("name", ["Lake", "Parked", "Checkpoints"])
def test_what_a_job_deleted_can_be_brought_back_for_a_week(
    any_stage: Synthesized, name: str
) -> None:
    bucket = _bucket(any_stage, name)

    rules = bucket["LifecycleConfiguration"]["Rules"]
    assert bucket["VersioningConfiguration"] == {"Status": "Enabled"}
    assert [
        one["NoncurrentVersionExpiration"]["NoncurrentDays"]
        for one in rules
        if "NoncurrentVersionExpiration" in one
    ] == [7]


def test_no_bucket_is_public(any_stage: Synthesized) -> None:
    blocks = [
        one["Properties"]["PublicAccessBlockConfiguration"] for one in _buckets(any_stage).values()
    ]

    assert all(len(block) == 4 and all(block.values()) for block in blocks)


def test_every_bucket_is_encrypted(any_stage: Synthesized) -> None:
    assert all("BucketEncryption" in one["Properties"] for one in _buckets(any_stage).values())


def test_every_bucket_refuses_requests_without_tls(any_stage: Synthesized) -> None:
    policies = any_stage.resources("AWS::S3::BucketPolicy").values()
    refusing = {
        policy["Properties"]["Bucket"]["Ref"]
        for policy in policies
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Deny"
        and statement.get("Condition") == {"Bool": {"aws:SecureTransport": "false"}}
    }

    assert refusing == set(_buckets(any_stage))


def test_in_aws_all_data_is_encrypted_with_a_key_of_our_own_that_rotates(
    cloud_stage: Synthesized,
) -> None:
    keys = cloud_stage.resources("AWS::KMS::Key").values()
    algorithms = {
        name: bucket["Properties"]["BucketEncryption"]["ServerSideEncryptionConfiguration"][0][
            "ServerSideEncryptionByDefault"
        ]["SSEAlgorithm"]
        for name, bucket in _buckets(cloud_stage).items()
    }
    tables = cloud_stage.resources("AWS::DynamoDB::Table").values()

    assert all(key["Properties"]["EnableKeyRotation"] for key in keys)
    assert {name for name, used in algorithms.items() if used != "aws:kms"} == {
        name
        for name in algorithms
        if name.startswith("AccessLogs")  # S3 takes no other there
    }
    assert all(one["Properties"]["SSESpecification"]["SSEType"] == "KMS" for one in tables)


def test_the_registry_can_be_brought_back_to_any_second(any_stage: Synthesized) -> None:
    recovery = _table(any_stage, "Registry")["PointInTimeRecoverySpecification"]

    assert recovery == {"PointInTimeRecoveryEnabled": True}


def test_receipts_expire_by_themselves(any_stage: Synthesized) -> None:
    expiry = _table(any_stage, "Receipts")["TimeToLiveSpecification"]

    assert expiry == {"AttributeName": "expires_s", "Enabled": True}


def _of_stores(stage: Synthesized) -> Iterator[tuple[str, Resource]]:
    for stack in ("storage", "streaming"):
        for name, resource in stage.templates[stack]["Resources"].items():
            if resource["Type"] in KEPT:
                yield name, resource


def test_in_prod_nothing_that_holds_data_is_deleted_with_its_stack(prod: Synthesized) -> None:
    policies = {
        (resource["DeletionPolicy"], resource["UpdateReplacePolicy"])
        for _, resource in _of_stores(prod)
    }

    assert policies == {("RetainExceptOnCreate", "Retain")}


def test_in_prod_a_table_cannot_be_deleted_by_hand_either(prod: Synthesized) -> None:
    tables = prod.resources("AWS::DynamoDB::Table").values()

    assert all(one["Properties"]["DeletionProtectionEnabled"] for one in tables)


def test_every_log_group_has_an_end(any_stage: Synthesized) -> None:
    groups = any_stage.resources("AWS::Logs::LogGroup").values()

    assert all("RetentionInDays" in group["Properties"] for group in groups)


def test_every_function_of_ours_and_of_cdks_logs_to_a_group_with_an_end(
    cloud_stage: Synthesized,
) -> None:
    functions = cloud_stage.resources("AWS::Lambda::Function")
    endless = {n for n, one in functions.items() if "LoggingConfig" not in one["Properties"]}

    assert endless == set()


def test_kafka_loses_nothing_with_a_broker(cloud_stage: Synthesized) -> None:
    [configuration] = cloud_stage.resources("AWS::MSK::Configuration").values()
    [cluster] = cloud_stage.resources("AWS::MSK::Cluster").values()

    assert configuration["Properties"]["ServerProperties"].splitlines() == [
        "auto.create.topics.enable=false",
        "default.replication.factor=3",
        "min.insync.replicas=2",
        "unclean.leader.election.enable=false",
    ]
    assert cluster["Properties"]["NumberOfBrokerNodes"] >= 3


def test_kafka_lets_nobody_in_but_by_iam_and_tls(cloud_stage: Synthesized) -> None:
    [cluster] = cloud_stage.resources("AWS::MSK::Cluster").values()

    assert cluster["Properties"]["ClientAuthentication"] == {
        "Sasl": {"Iam": {"Enabled": True}},
        "Unauthenticated": {"Enabled": False},
    }
    encryption = cluster["Properties"]["EncryptionInfo"]
    assert encryption["EncryptionInTransit"] == {"ClientBroker": "TLS", "InCluster": True}
    assert "DataVolumeKMSKeyId" in encryption["EncryptionAtRest"]


def test_the_platforms_topics_are_as_events_says(cloud_stage: Synthesized) -> None:
    topics = [one["Properties"] for one in cloud_stage.resources("AWS::MSK::Topic").values()]

    configured = {one["TopicName"]: json.loads(base64.b64decode(one["Configs"])) for one in topics}

    assert configured == {
        topic: topic_settings(topic).kafka_configuration() for topic in platform_topics()
    }
    assert {one["ReplicationFactor"] for one in topics} == {3}


def test_the_network_reaches_no_internet(cloud_stage: Synthesized) -> None:
    kinds = {resource["Type"] for _, _, resource in cloud_stage.all_resources()}
    subnets = cloud_stage.resources("AWS::EC2::Subnet").values()

    assert not kinds & {"AWS::EC2::NatGateway", "AWS::EC2::InternetGateway"}
    assert len({one["Properties"]["AvailabilityZone"] for one in subnets}) == 3


def test_what_a_stage_does_not_keep_goes_with_it(dev: Synthesized, staging: Synthesized) -> None:
    for stage in (dev, staging):
        emptied = stage.resources("Custom::EmptiedBucket").values()
        [database] = stage.resources("AWS::Glue::Database").values()
        deleted = {one["DeletionPolicy"] for one in _buckets(stage).values()}

        assert {one["Properties"]["bucket"]["Ref"] for one in emptied} == set(_buckets(stage))
        assert deleted == {"Delete"}
        assert database.get("DeletionPolicy", "Delete") == "Delete"


def test_a_bucket_is_emptied_before_its_policy_goes_and_that_of_access_logs_last(
    dev: Synthesized,
) -> None:
    storage = dev.templates["storage"]["Resources"]
    kind = "Custom::EmptiedBucket"
    [of_logs] = [one for one in dev.resources(kind) if one.startswith("EmptiedAccessLogs")]

    for one in dev.resources(kind).values():
        bucket = one["Properties"]["bucket"]["Ref"]
        [policy] = [
            storage[name]
            for name in one["DependsOn"]
            if storage[name]["Type"] == "AWS::S3::BucketPolicy"
        ]
        assert policy["Properties"]["Bucket"]["Ref"] == bucket
        assert (of_logs in one["DependsOn"]) == (not bucket.startswith("AccessLogs"))


def test_what_prod_keeps_nothing_empties_nor_deletes(prod: Synthesized) -> None:
    """The lake's database stays in the template: left out, it would go with all its tables."""
    [database] = prod.resources("AWS::Glue::Database").values()

    assert prod.resources("Custom::EmptiedBucket") == {}
    assert database["DeletionPolicy"] == "RetainExceptOnCreate"
