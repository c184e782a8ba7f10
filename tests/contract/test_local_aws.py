"""The laptop's S3 and DynamoDB keep what they answered, and their address."""

import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.exceptions import ClientError

from local.servers.localstack import LocalAws, LocalStackMissingError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client

pytestmark = pytest.mark.localstack

ENVIRONMENT = Path(__file__).parents[2] / "build" / "localstack"
BUCKET, VERSIONED, TABLE = "payloads", "published", "devices"
BODY = bytes(range(256)) * 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Restarted:
    """LocalStack after work, kill -9, a torn record and a restart; and what it said before."""

    aws: LocalAws
    s3: "S3Client"
    dynamodb: "DynamoDBClient"
    endpoint_before: str
    versions_before: list[tuple[str, str]]
    upload_id: str
    part_etag: str


@pytest.fixture(scope="module")
def restarted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Restarted]:
    folder = tmp_path_factory.mktemp("aws")
    aws = LocalAws(folder, environment=ENVIRONMENT)
    aws.start()
    s3 = boto3.client("s3", **aws.client_settings)
    dynamodb = boto3.client("dynamodb", **aws.client_settings)
    try:
        put_objects(aws, s3)
        put_items(aws, dynamodb)
        upload_id = s3.create_multipart_upload(Bucket=BUCKET, Key="parts")["UploadId"]
        part = s3.upload_part(
            Bucket=BUCKET, Key="parts", UploadId=upload_id, PartNumber=1, Body=BODY
        )
        restarted = Restarted(
            aws=aws,
            s3=s3,
            dynamodb=dynamodb,
            endpoint_before=aws.endpoint_url,
            versions_before=versions(s3),
            upload_id=upload_id,
            part_etag=part["ETag"],
        )
        aws.kill()
        with (folder / "journal").open("ab") as journal:
            journal.write(b"\0\0\0\x20\0\0\0\x20torn")
        aws.start()
        yield restarted
    finally:
        aws.stop()
        s3.close()
        dynamodb.close()


def put_objects(aws: LocalAws, s3: "S3Client") -> None:
    aws.ensure_bucket(BUCKET)
    s3.put_object(Bucket=BUCKET, Key="a b/é+1", Body=BODY, Metadata={"sha256": "12ab"})
    s3.put_object(Bucket=BUCKET, Key="deleted", Body=b"")
    s3.delete_objects(Bucket=BUCKET, Delete={"Objects": [{"Key": "deleted"}]})
    aws.ensure_bucket(VERSIONED)
    s3.put_bucket_versioning(Bucket=VERSIONED, VersioningConfiguration={"Status": "Enabled"})
    for body in (b"first", b"second"):
        s3.put_object(Bucket=VERSIONED, Key="flows.json", Body=body)


def test_a_scan_gives_the_attributes_that_it_asks_for(restarted: Restarted) -> None:
    asked = "device_id, kept.#at"  # a path within an attribute besides

    found = restarted.dynamodb.scan(
        TableName=TABLE, ProjectionExpression=asked, ExpressionAttributeNames={"#at": "at"}
    )
    ids = restarted.dynamodb.scan(TableName=TABLE, ProjectionExpression="device_id")

    assert found["Items"] == ids["Items"] == [{"device_id": {"S": "d-1"}}]


def put_items(aws: LocalAws, dynamodb: "DynamoDBClient") -> None:
    aws.ensure_table(TABLE)
    dynamodb.put_item(TableName=TABLE, Item=item("d-1", count=1))
    count_up(dynamodb)
    dynamodb.put_item(TableName=TABLE, Item=item("d-2", count=0))
    dynamodb.delete_item(TableName=TABLE, Key={"device_id": {"S": "d-2"}})
    with pytest.raises(dynamodb.exceptions.ConditionalCheckFailedException):
        dynamodb.put_item(
            TableName=TABLE,
            Item=item("d-1", count=100),
            ConditionExpression="attribute_not_exists(device_id)",
        )


def count_up(dynamodb: "DynamoDBClient") -> None:
    dynamodb.update_item(
        TableName=TABLE,
        Key={"device_id": {"S": "d-1"}},
        UpdateExpression="ADD reports :one",
        ExpressionAttributeValues={":one": {"N": "1"}},
    )


def item(device_id: str, *, count: int) -> dict[str, Any]:
    return {"device_id": {"S": device_id}, "reports": {"N": str(count)}}


def versions(s3: "S3Client") -> list[tuple[str, str]]:
    listed = s3.list_object_versions(Bucket=VERSIONED)["Versions"]
    return [(version["VersionId"], version["LastModified"].isoformat()) for version in listed]


def test_it_comes_back_on_the_same_address(restarted: Restarted) -> None:
    endpoint = restarted.aws.endpoint_url

    assert endpoint == restarted.endpoint_before


def test_an_object_survives_with_its_bytes_and_metadata(restarted: Restarted) -> None:
    answer = restarted.s3.get_object(Bucket=BUCKET, Key="a b/é+1")

    assert (answer["Body"].read(), answer["Metadata"]) == (BODY, {"sha256": "12ab"})


def test_a_deleted_object_stays_deleted(restarted: Restarted) -> None:
    with pytest.raises(ClientError, match="404"):
        restarted.s3.head_object(Bucket=BUCKET, Key="deleted")


def test_versions_keep_their_ids_and_times(restarted: Restarted) -> None:
    found = versions(restarted.s3)

    assert found == restarted.versions_before


def test_an_upload_in_parts_goes_on_after_the_restart(restarted: Restarted) -> None:
    restarted.s3.complete_multipart_upload(
        Bucket=BUCKET,
        Key="parts",
        UploadId=restarted.upload_id,
        MultipartUpload={"Parts": [{"ETag": restarted.part_etag, "PartNumber": 1}]},
    )

    assert restarted.s3.get_object(Bucket=BUCKET, Key="parts")["Body"].read() == BODY


def test_items_survive_as_the_last_successful_write_left_them(restarted: Restarted) -> None:
    items = restarted.dynamodb.scan(TableName=TABLE)["Items"]

    assert items == [item("d-1", count=2)]


def test_making_what_is_there_changes_nothing(restarted: Restarted) -> None:
    restarted.aws.ensure_bucket(BUCKET)
    restarted.aws.ensure_table(TABLE)

    assert restarted.dynamodb.scan(TableName=TABLE)["Count"] == 1


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has 127.0.0.2 from the start")
def test_localstack_listens_on_loopback_alone(restarted: Restarted) -> None:
    port = int(restarted.aws.endpoint_url.rpartition(":")[2])

    with socket.create_server(("127.0.0.2", port)) as elsewhere:
        free_elsewhere = elsewhere.getsockname()[1]

    assert free_elsewhere == port


def test_without_its_environment_one_sentence_says_so(tmp_path: Path) -> None:
    aws = LocalAws(tmp_path / "data", environment=tmp_path / "nothing")

    with pytest.raises(LocalStackMissingError, match="the set-up installs LocalStack there"):
        aws.start()
