"""Bodies in S3: the fake and a real S3 keep the same promises; then what only S3 can get wrong."""

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

import pytest

from clients.aws import AwsSettings, s3_client
from clients.s3.payload_bucket import (
    PayloadBucket,
    PayloadCorruptError,
    PayloadMissingError,
    PayloadTooLargeError,
    PayloadUnavailableError,
    parked_key,
    payload_key,
)
from fleetlane.events.envelope import PayloadReference
from local.servers.localstack import LocalAws
from operations.endpoints import REGION
from tests.contract.aws_in_process import buckets
from tests.unit.lambdas.fakes import FakePayloads

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

BODY = bytes(range(256)) * 2000
SHA256 = hashlib.sha256(BODY).hexdigest()
KEY = payload_key("1" + "0" * 32)


class Payloads(Protocol):
    def put(self, key: str, body: bytes, sha256_hex: str) -> PayloadReference: ...

    def get(self, reference: PayloadReference, *, body_bytes: int, bytes_max: int) -> bytes: ...


@pytest.fixture
def s3() -> "Iterator[S3Client]":
    with buckets("payloads", "parked") as s3:
        yield s3


@pytest.fixture
def bucket(s3: "S3Client") -> PayloadBucket:
    return PayloadBucket(s3, "payloads")


@pytest.fixture
def localstack_bucket(local_aws: LocalAws, monkeypatch: pytest.MonkeyPatch) -> PayloadBucket:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    local_aws.ensure_bucket("payload-contract")
    settings = AwsSettings(endpoint_url=local_aws.endpoint_url, region_name=REGION)
    return PayloadBucket(s3_client(settings), "payload-contract")


@pytest.fixture(
    params=["fake", "bucket", pytest.param("localstack_bucket", marks=pytest.mark.localstack)]
)
def payloads(request: pytest.FixtureRequest) -> Payloads:
    if request.param == "fake":
        return FakePayloads()
    bucket: PayloadBucket = request.getfixturevalue(request.param)
    return bucket


def test_a_body_comes_back_as_it_was_put(payloads: Payloads) -> None:
    reference = payloads.put(KEY, BODY, SHA256)

    fetched = payloads.get(reference, body_bytes=len(BODY), bytes_max=len(BODY))

    assert reference == PayloadReference(key=KEY, sha256=SHA256)
    assert fetched == BODY


@pytest.mark.parametrize(
    "which", ["bucket", pytest.param("localstack_bucket", marks=pytest.mark.localstack)]
)
def test_a_bucket_says_whether_it_has_an_object(which: str, request: pytest.FixtureRequest) -> None:
    bucket: PayloadBucket = request.getfixturevalue(which)
    bucket.put(KEY, BODY, SHA256)
    bucket.put(f"{KEY}-longer", BODY, SHA256)

    found = [bucket.has(key) for key in (KEY, f"{KEY}-longer", KEY[:-1], "never-put")]

    assert found == [True, True, False, False]


def test_a_bucket_that_is_not_there_does_not_say_what_it_has(s3: "S3Client") -> None:
    with pytest.raises(PayloadUnavailableError):
        PayloadBucket(s3, "no-such-bucket").has(KEY)


@pytest.mark.localstack  # moto does not check digests
def test_a_body_that_does_not_have_its_digest_is_not_taken(
    localstack_bucket: PayloadBucket,
) -> None:
    with pytest.raises(PayloadUnavailableError):
        localstack_bucket.put(KEY, BODY + b"!", SHA256)


def test_an_object_that_is_not_there_is_missing(payloads: Payloads) -> None:
    reference = PayloadReference(key="never-put", sha256=SHA256)

    with pytest.raises(PayloadMissingError, match="never-put"):
        payloads.get(reference, body_bytes=1, bytes_max=1)


@pytest.mark.parametrize(
    ("altered", "found"),
    [(BODY + b"!", "512001 bytes"), (b"!" + BODY[1:], "SHA-256"), (b"", "0 bytes")],
)
def test_an_altered_object_is_corrupt(
    s3: "S3Client", bucket: PayloadBucket, altered: bytes, found: str
) -> None:
    reference = bucket.put(KEY, BODY, SHA256)
    s3.put_object(Bucket="payloads", Key=KEY, Body=altered)

    with pytest.raises(PayloadCorruptError, match=found):
        bucket.get(reference, body_bytes=len(BODY), bytes_max=len(BODY))


def test_a_body_over_the_limit_is_not_fetched(bucket: PayloadBucket) -> None:
    reference = PayloadReference(key="never-put", sha256=SHA256)

    with pytest.raises(PayloadTooLargeError, match="11 bytes; the limit is 10 bytes"):
        bucket.get(reference, body_bytes=11, bytes_max=10)


def test_a_missing_bucket_is_an_outage_not_a_missing_payload(s3: "S3Client") -> None:
    bucket = PayloadBucket(s3, "not-there")

    with pytest.raises(PayloadUnavailableError):
        bucket.get(PayloadReference(key=KEY, sha256=SHA256), body_bytes=1, bytes_max=1)


def test_an_s3_that_refuses_connections_is_an_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
    settings = AwsSettings(endpoint_url="http://127.0.0.1:1", region_name="us-east-1")
    bucket = PayloadBucket(s3_client(settings), "payloads")

    with pytest.raises(PayloadUnavailableError):
        bucket.put(KEY, BODY, SHA256)


def test_parking_copies_a_payload_under_parked(bucket: PayloadBucket, s3: "S3Client") -> None:
    bucket.put(KEY, BODY, SHA256)

    bucket.copy_to("parked", KEY, parked_key(KEY))

    copy = s3.get_object(Bucket="parked", Key=f"parked/{KEY}")
    assert copy["Body"].read() == BODY


def test_parking_a_missing_payload_says_so(bucket: PayloadBucket) -> None:
    with pytest.raises(PayloadMissingError):
        bucket.copy_to("parked", KEY, parked_key(KEY))


def test_a_deleted_payload_is_gone_and_may_be_deleted_again(bucket: PayloadBucket) -> None:
    bucket.put(KEY, BODY, SHA256)

    for _ in range(2):
        bucket.delete(KEY)

    assert not bucket.has(KEY)
