"""What is deleted with a bucket whose stack goes: every version of every object."""

from typing import Any

import boto3
import pytest
from moto import mock_aws

from infra.constructs.stores.emptying import empty

BUCKET = "goes"
MORE_THAN_A_PAGE = 1_100


@pytest.fixture
def s3() -> Any:
    with mock_aws():
        s3: Any = boto3.client("s3", region_name="us-east-1")
        s3.create_bucket(Bucket=BUCKET)
        s3.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
        yield s3


def test_old_versions_and_marks_of_deletion_are_deleted_too(s3: Any) -> None:
    for body in (b"first", b"second"):
        s3.put_object(Bucket=BUCKET, Key="twice", Body=body)
    s3.put_object(Bucket=BUCKET, Key="deleted", Body=b"")
    s3.delete_object(Bucket=BUCKET, Key="deleted")

    empty(s3, BUCKET, has_time=lambda: True)

    s3.delete_bucket(Bucket=BUCKET)
    assert s3.list_buckets()["Buckets"] == []


def test_a_bucket_with_more_than_a_page_is_emptied(s3: Any) -> None:
    for number in range(MORE_THAN_A_PAGE):
        s3.put_object(Bucket=BUCKET, Key=f"{number}", Body=b"")

    empty(s3, BUCKET, has_time=lambda: True)

    assert s3.list_object_versions(Bucket=BUCKET).get("Versions", []) == []


def test_what_is_too_much_for_one_call_is_for_the_next(s3: Any) -> None:
    for number in range(MORE_THAN_A_PAGE):
        s3.put_object(Bucket=BUCKET, Key=f"{number}", Body=b"")
    time_left = iter([True, False])

    with pytest.raises(RuntimeError, match="destroy again"):
        empty(s3, BUCKET, has_time=lambda: next(time_left))

    assert len(s3.list_object_versions(Bucket=BUCKET)["Versions"]) == MORE_THAN_A_PAGE - 1_000
