"""A form fits one body: S3 refuses any other size, bytes, key or metadata, and in time all."""

import hashlib
import time
from collections.abc import Callable
from copy import replace
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from clients.aws import AwsSettings, s3_client
from clients.s3.upload_bucket import (
    IssuedUpload,
    UploadBucket,
    signed_form,
    signing_client,
    upload_key,
)
from local.servers.localstack import LocalAws
from operations.endpoints import REGION

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

pytestmark = pytest.mark.localstack

BODY = bytes(range(256)) * 4096
KEY = upload_key("1" + "0" * 32, issued_millis=0)
BUCKET = "upload-forms"
ISSUED = IssuedUpload(
    device_id="d-1",
    device_type="press",
    is_quarantined=False,
    stream="dumps",
    body_bytes=len(BODY),
    sha256=hashlib.sha256(BODY).hexdigest(),
    content_type='text/plain; x="$\\"',
)

type Change = Callable[[dict[str, str]], dict[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """A bucket that has no upload yet, and forms for it."""

    s3: "S3Client"
    settings: AwsSettings

    def form(self, *, expires_s: int = 900) -> dict[str, Any]:
        s3 = signing_client(self.settings)
        return signed_form(s3, BUCKET, KEY, ISSUED, expires_s=expires_s)

    def keys(self) -> list[str]:
        listed = self.s3.list_objects_v2(Bucket=BUCKET)
        return [found["Key"] for found in listed.get("Contents", [])]


@pytest.fixture
def storage(local_aws: LocalAws, monkeypatch: pytest.MonkeyPatch) -> Storage:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    local_aws.ensure_bucket(BUCKET)
    settings = AwsSettings(endpoint_url=local_aws.endpoint_url, region_name=REGION)
    s3 = s3_client(settings)
    s3.delete_object(Bucket=BUCKET, Key=KEY)
    return Storage(s3=s3, settings=settings)


def sent(form: dict[str, Any], body: bytes = BODY) -> httpx.Response:
    return httpx.post(form["url"], data=form["fields"], files={"file": body}, trust_env=False)


def test_the_body_that_was_declared_is_taken_as_it_was_issued(storage: Storage) -> None:
    answer = sent(storage.form())

    assert answer.status_code == 204
    assert UploadBucket(storage.s3, BUCKET).stored(KEY).issued == ISSUED
    assert storage.s3.get_object(Bucket=BUCKET, Key=KEY)["Body"].read() == BODY


@pytest.mark.parametrize(
    "body",
    [BODY + b"!", BODY[:-1], b"", b"!" + BODY[1:]],
    ids=["longer", "shorter", "empty", "other bytes"],
)
def test_another_body_is_refused_and_not_kept(storage: Storage, body: bytes) -> None:
    answer = sent(storage.form(), body)

    assert (answer.status_code, storage.keys()) == (400, [])


@pytest.mark.parametrize(
    "change",
    [
        lambda fields: {**fields, "key": KEY[:-1] + "1"},
        lambda fields: {
            **fields,
            "x-amz-meta-upload": replace(ISSUED, device_id="d-2").to_metadata(),
        },
        lambda fields: {**fields, "x-amz-checksum-sha256": "AAAA"},
        lambda fields: {n: v for n, v in fields.items() if n != "x-amz-checksum-sha256"},
        lambda fields: {n: v for n, v in fields.items() if n != "x-amz-checksum-algorithm"},
        lambda fields: {n: v for n, v in fields.items() if n != "x-amz-meta-upload"},
    ],
    ids=["key", "metadata", "digest", "no digest", "no algorithm", "no metadata"],
)
def test_a_changed_form_is_refused_and_nothing_is_kept(storage: Storage, change: Change) -> None:
    form = storage.form()

    answer = sent({**form, "fields": change(form["fields"])})

    assert (answer.status_code, storage.keys()) == (403, [])


def test_a_form_expires(storage: Storage) -> None:
    form = storage.form(expires_s=1)
    time.sleep(2)  # its expiry is a time, in whole seconds

    answer = sent(form)

    assert (answer.status_code, storage.keys()) == (403, [])


def test_in_aws_a_form_names_the_bucket_s_own_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    s3 = signing_client(AwsSettings(region_name=REGION))

    form = signed_form(s3, BUCKET, KEY, ISSUED, expires_s=1)

    assert form["url"] == f"https://{BUCKET}.s3.{REGION}.amazonaws.com/"
