"""A stage as its templates deploy it, on this machine: stores, topics, code and flows."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import boto3

from clients.kafka.topics import KafkaTopics
from fleetlane.events.topics import platform_topics
from lambdas.flow_activation.service import activate_owners
from local.checkout import BROKER_JARS, LOCALSTACK_ENVIRONMENT
from local.servers.localstack import LocalAws
from tests.rehearsal.aws_twins import AwsTwins
from tests.rehearsal.iam_broker import Certificate, IamBroker, RoleCredentials
from tests.rehearsal.templates import StageTemplates

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

PARTITIONS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What is in AWS's place: a broker with IAM, S3 and DynamoDB, and what moto answers for."""

    broker: IamBroker
    aws: LocalAws
    twins: AwsTwins
    certificate: Certificate

    @classmethod
    @contextmanager
    def started(cls, folder: Path) -> "Iterator[Ground]":
        role, certificate = RoleCredentials(), Certificate.made(folder / "tls")
        broker = IamBroker(folder / "kafka", jars=BROKER_JARS, role=role, certificate=certificate)
        aws = LocalAws(folder / "aws", environment=LOCALSTACK_ENVIRONMENT)
        try:
            broker.start()
            aws.start()
            with AwsTwins(role) as twins:
                yield cls(broker=broker, aws=aws, twins=twins, certificate=certificate)
        finally:
            aws.stop()
            broker.stop()

    @property
    def s3(self) -> "S3Client":
        return boto3.client("s3", **self.aws.client_settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployedStage:
    """The templates in force on a ground. What newer ones do not name stays as it is."""

    ground: Ground
    templates: StageTemplates

    @classmethod
    def deployed(cls, ground: Ground, folder: Path) -> "DeployedStage":
        """Do what CloudFormation and the deploy's own functions would, from ``folder``."""
        known = {"BootstrapBrokerStringSaslIam": ground.broker.with_iam}
        stage = cls(ground=ground, templates=StageTemplates(folder, known))
        for bucket in stage.templates.physical_names("AWS::S3::Bucket"):
            ground.aws.ensure_bucket(bucket)
        for table in stage.templates.physical_names("AWS::DynamoDB::Table"):
            ground.aws.ensure_table(table)
        for upload in stage.templates.uploads():
            for key, content in upload.objects():
                ground.s3.put_object(Bucket=upload.bucket, Key=key, Body=content)
        stage._put_flows_into_force()
        return stage

    def fetched(self, url: str, folder: Path) -> Path:
        """Copy an object into a folder, under the last part of its key."""
        found = urlsplit(url)
        place = folder / found.path.rpartition("/")[2]
        self.ground.s3.download_file(found.netloc, found.path.lstrip("/"), str(place))
        return place

    def checkpoint_keys(self, query: str) -> list[str]:
        """What a query whose name begins so has in its checkpoint."""
        bucket, s3 = self.bucket("checkpoints"), self.ground.s3
        pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=query)
        return [one["Key"] for page in pages for one in page.get("Contents", ())]

    def bucket(self, name: str) -> str:
        """The bucket whose logical name begins so."""
        buckets = self.templates.physical_names("AWS::S3::Bucket")
        (found,) = (one for one in buckets if name in one)
        return found

    def _put_flows_into_force(self) -> None:
        bucket, s3 = self.bucket("artifacts"), self.ground.s3
        topics = KafkaTopics(
            bootstrap_servers=self.ground.broker.bootstrap_servers,
            partitions=PARTITIONS,
            replication=1,
        )
        topics.create_missing(platform_topics())
        for activated in self.templates.resources("Custom::ActivatedFlows"):
            activate_owners(activated["owners"], s3=s3, bucket=bucket, topics=topics)
