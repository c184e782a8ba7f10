"""Uploads in S3: the fake and a real S3 keep the same promises; then what only S3 can get wrong."""

import hashlib
from collections.abc import Callable, Iterator
from copy import replace
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import pytest

from clients.aws import AwsSettings, s3_client
from clients.s3.payload_bucket import PayloadMissingError, PayloadUnavailableError
from clients.s3.upload_bucket import (
    UPLOAD_FIELD,
    IssuedUpload,
    NotAnUploadError,
    StoredUpload,
    UploadBucket,
    issued_since,
    upload_key,
)
from local.servers.localstack import LocalAws
from operations.endpoints import REGION
from tests.contract.aws_in_process import buckets
from tests.unit.lambdas.upload_fakes import FakeUploads

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

BODY = b"a large body"
ISSUED = IssuedUpload(
    device_id="d-1",
    device_type="press",
    is_quarantined=False,
    stream="dumps",
    body_bytes=len(BODY),
    sha256=hashlib.sha256(BODY).hexdigest(),
    content_type="application/json",
)
RAW_IDS = tuple(f"1{number:032x}" for number in range(5))
KEYS = tuple(upload_key(one, issued_millis=60_000 * at) for at, one in enumerate(RAW_IDS))


class Uploads(Protocol):
    def stored(self, key: str) -> StoredUpload: ...
    def is_landed(self, key: str) -> bool: ...
    def mark_landed(self, key: str) -> None: ...
    def listed(self, *, after: str, uploads_max: int) -> dict[str, int]: ...
    def landed_between(self, *, after: str, last: str) -> frozenset[str]: ...
    def sweep_position(self) -> str: ...
    def keep_sweep_position(self, key: str) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Uploads, and how one gets there."""

    uploads: Uploads
    put: Callable[[str], None]


def put_into(s3: "S3Client", key: str, issued: IssuedUpload = ISSUED, body: bytes = BODY) -> None:
    s3.put_object(
        Bucket="uploads",
        Key=key,
        Body=body,
        Metadata={UPLOAD_FIELD: issued.to_metadata()},
        ChecksumAlgorithm="SHA256",
    )


@pytest.fixture
def moto_s3() -> "Iterator[S3Client]":
    with buckets("uploads") as s3:
        yield s3


@pytest.fixture
def localstack_s3(local_aws: LocalAws, monkeypatch: pytest.MonkeyPatch) -> "Iterator[S3Client]":
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    local_aws.ensure_bucket("uploads")
    s3 = s3_client(AwsSettings(endpoint_url=local_aws.endpoint_url, region_name=REGION))
    yield s3
    for found in s3.list_objects_v2(Bucket="uploads").get("Contents", []):
        s3.delete_object(Bucket="uploads", Key=found["Key"])


@pytest.fixture(
    params=["fake", "moto_s3", pytest.param("localstack_s3", marks=pytest.mark.localstack)]
)
def held(request: pytest.FixtureRequest) -> Held:
    if request.param == "fake":
        fake = FakeUploads()
        return Held(
            uploads=fake, put=lambda key: fake.take(key, ISSUED, stored_millis=1_793_714_705_000)
        )
    s3: S3Client = request.getfixturevalue(request.param)
    return Held(uploads=UploadBucket(s3, "uploads"), put=lambda key: put_into(s3, key))


def test_an_upload_is_what_was_issued(held: Held) -> None:
    held.put(KEYS[0])

    stored = held.uploads.stored(KEYS[0])

    assert (stored.key, stored.raw_id, stored.issued) == (KEYS[0], RAW_IDS[0], ISSUED)
    assert stored.stored_millis % 1000 == 0


def test_looking_and_listing_tell_the_same_time(held: Held) -> None:
    held.put(KEYS[0])

    listed = held.uploads.listed(after="", uploads_max=10)

    assert listed == {KEYS[0]: held.uploads.stored(KEYS[0]).stored_millis}


def test_an_upload_that_is_not_there_is_missing(held: Held) -> None:
    with pytest.raises(PayloadMissingError):
        held.uploads.stored(KEYS[0])


def test_a_key_of_another_kind_is_no_upload(held: Held) -> None:
    with pytest.raises(NotAnUploadError):
        held.uploads.stored("uploads/by-hand")


def test_an_upload_is_landed_once_it_is_marked(held: Held) -> None:
    held.put(KEYS[0])
    before = held.uploads.is_landed(KEYS[0])

    held.uploads.mark_landed(KEYS[0])

    assert (before, held.uploads.is_landed(KEYS[0])) == (False, True)


def test_uploads_are_listed_oldest_first_behind_a_key(held: Held) -> None:
    for key in reversed(KEYS):
        held.put(key)
    held.uploads.mark_landed(KEYS[1])

    listed = held.uploads.listed(after=KEYS[0], uploads_max=3)

    assert tuple(listed) == KEYS[1:4]


def test_marks_are_found_between_two_keys(held: Held) -> None:
    for key in KEYS[:4]:
        held.uploads.mark_landed(key)

    found = held.uploads.landed_between(after=KEYS[0], last=KEYS[2])

    assert found == {KEYS[1], KEYS[2]}


def test_marks_are_found_from_the_beginning_and_from_an_hour(held: Held) -> None:
    held.uploads.mark_landed(KEYS[0])

    found = [held.uploads.landed_between(after=at, last=KEYS[4]) for at in ("", issued_since(0))]

    assert found == [{KEYS[0]}, {KEYS[0]}]


def test_the_sweep_s_position_is_kept(held: Held) -> None:
    before = held.uploads.sweep_position()

    held.uploads.keep_sweep_position(KEYS[3])

    assert (before, held.uploads.sweep_position()) == ("", KEYS[3])


def test_an_object_without_our_metadata_is_no_upload(moto_s3: "S3Client") -> None:
    moto_s3.put_object(Bucket="uploads", Key=KEYS[0], Body=BODY)

    with pytest.raises(NotAnUploadError, match="none of our metadata"):
        UploadBucket(moto_s3, "uploads").stored(KEYS[0])


@pytest.mark.parametrize(
    ("issued", "told"),
    [
        (replace(ISSUED, body_bytes=1), "it has 12 bytes, 1 were issued"),
        (replace(ISSUED, sha256="ab" * 32), "S3 vouches for SHA-256"),
    ],
)
def test_an_object_that_is_not_the_one_that_was_issued_is_no_upload(
    moto_s3: "S3Client", issued: IssuedUpload, told: str
) -> None:
    put_into(moto_s3, KEYS[0], issued)

    with pytest.raises(NotAnUploadError, match=told):
        UploadBucket(moto_s3, "uploads").stored(KEYS[0])


def test_a_missing_bucket_is_an_outage(moto_s3: "S3Client") -> None:
    with pytest.raises(PayloadUnavailableError):
        UploadBucket(moto_s3, "not-there").listed(after="", uploads_max=1)
