"""The spool: the fake and a real S3 keep the same promises; then what only S3 has."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

import pytest
from botocore.stub import Stubber

from clients.aws import AwsSettings, request_config, s3_client
from clients.kafka.producer_record import ProducerRecord
from clients.s3.spool import Spool, Spooled, SpoolUnavailableError, SpoolUnreadableError, Waiting
from local.servers.localstack import LocalAws
from operations.endpoints import REGION
from tests.contract.aws_in_process import buckets
from tests.unit.lambdas.fakes import FakeSpool

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

NOW_MS = 1_790_000_000_000
MINUTE_MS = 60_000


class RecordSpool(Protocol):
    def put(self, records: Sequence[ProducerRecord], *, now_ms: int) -> Spooled: ...

    def waiting(self) -> Iterator[Waiting]: ...

    def get(self, key: str) -> list[ProducerRecord] | None: ...

    def delete(self, keys: Sequence[str]) -> list[str]: ...


def record(value: bytes | None = b"x") -> ProducerRecord:
    headers = [("ce_id", b"1" + b"0" * 32), ("twice", b"\xff"), ("twice", None)]
    return ProducerRecord(topic="raw.fast", key=b"1790000000000", value=value, headers=headers)


@pytest.fixture
def s3() -> "Iterator[S3Client]":
    with buckets("spool") as s3:
        yield s3


@pytest.fixture
def bucket(s3: "S3Client") -> Spool:
    return Spool(s3, "spool")


@pytest.fixture
def localstack_bucket(
    local_aws: LocalAws, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Spool:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    name = f"spool-{abs(hash(request.node.name))}"
    local_aws.ensure_bucket(name)
    return Spool(
        s3_client(AwsSettings(endpoint_url=local_aws.endpoint_url, region_name=REGION)), name
    )


@pytest.fixture(
    params=["fake", "bucket", pytest.param("localstack_bucket", marks=pytest.mark.localstack)]
)
def spool(request: pytest.FixtureRequest) -> RecordSpool:
    if request.param == "fake":
        return FakeSpool()
    bucket: Spool = request.getfixturevalue(request.param)
    return bucket


def test_records_come_back_as_they_were_put(spool: RecordSpool) -> None:
    records = [record(b"\x00body"), record(None), record(b"")]

    spooled = spool.put(records, now_ms=NOW_MS)

    assert spool.get(spooled.key) == records


def test_the_oldest_minute_comes_first(spool: RecordSpool) -> None:
    minutes = [3, 1, 4, 0, 2]
    for minute in minutes:
        for n in range(3):
            spool.put([record(b"%d" % n)], now_ms=NOW_MS + minute * MINUTE_MS)

    waiting = list(spool.waiting())

    assert [one.since_ms for one in waiting] == sorted(one.since_ms for one in waiting)
    assert len({one.since_ms for one in waiting}) == 5
    assert all(one.since_ms > NOW_MS - MINUTE_MS for one in waiting)
    assert len({one.key for one in waiting}) == 15


def test_what_takes_an_object_s_place_has_its_age(spool: RecordSpool) -> None:
    spool.put([record(b"a"), record(b"b")], now_ms=NOW_MS - 9 * MINUTE_MS)
    spool.put([record(b"c")], now_ms=NOW_MS)
    before, _ = spool.waiting()

    rest = spool.put([record(b"b")], now_ms=before.since_ms)
    spool.delete([before.key])

    after, _ = spool.waiting()
    assert (after.key, after.since_ms) == (rest.key, before.since_ms)


def test_an_object_says_how_large_it_is(spool: RecordSpool) -> None:
    spool.put([record(bytes(1_000))], now_ms=NOW_MS)

    (waiting,) = spool.waiting()

    assert 1_000 < waiting.object_bytes < 1_200


def test_what_is_deleted_is_gone_and_may_be_deleted_again(spool: RecordSpool) -> None:
    gone, kept = (spool.put([record(value)], now_ms=NOW_MS).key for value in (b"1", b"2"))

    for _ in range(2):
        assert spool.delete([gone]) == []

    assert (spool.get(gone), [one.key for one in spool.waiting()]) == (None, [kept])


def test_equal_records_of_one_minute_are_one_object(spool: RecordSpool) -> None:
    assert spool.put([record()], now_ms=NOW_MS) == spool.put([record()], now_ms=NOW_MS)
    assert len(list(spool.waiting())) == 1


def test_more_objects_than_s3_lists_or_deletes_at_once_are_no_trouble(bucket: Spool) -> None:
    keys = [bucket.put([record(b"%d" % n)], now_ms=NOW_MS).key for n in range(1_100)]

    assert sorted(one.key for one in bucket.waiting()) == sorted(keys)
    bucket.delete(keys)
    assert list(bucket.waiting()) == []


def test_keys_name_shard_minute_and_message(bucket: Spool) -> None:
    key = bucket.put([record()], now_ms=NOW_MS).key

    prefix, shard, minute, name = key.split("/")
    assert (prefix, minute, name[:34]) == ("spool", "20260921T1413Z", "1" + "0" * 32 + "-")
    assert shard in "01234567"


def test_an_object_of_no_known_format_is_unreadable_and_as_old_as_can_be(
    bucket: Spool, s3: "S3Client"
) -> None:
    s3.put_object(Bucket="spool", Key="spool/0/by-hand", Body=b"what?")

    (waiting,) = bucket.waiting()

    assert waiting.since_ms == 0
    with pytest.raises(SpoolUnreadableError):
        bucket.get(waiting.key)


def test_what_s3_does_not_delete_is_named(s3: "S3Client") -> None:
    refused = {"Errors": [{"Key": "spool/0/held", "Code": "AccessDenied", "Message": "held"}]}

    with Stubber(s3) as stub:
        stub.add_response("delete_objects", refused)
        left = Spool(s3, "spool").delete(["spool/0/held", "spool/0/gone"])

    assert left == ["spool/0/held"]


@pytest.mark.parametrize("confirmed", [{}, {"ChecksumSHA256": "AAAA"}], ids=["none", "another"])
def test_what_s3_confirms_by_no_or_another_digest_is_not_durable(
    s3: "S3Client", confirmed: dict[str, str]
) -> None:
    with Stubber(s3) as stub:
        stub.add_response("put_object", confirmed)
        with pytest.raises(SpoolUnavailableError, match="confirmed digest"):
            Spool(s3, "spool").put([record()], now_ms=NOW_MS)


def test_a_bucket_that_is_not_there_is_an_outage(s3: "S3Client") -> None:
    spool = Spool(s3, "not-there")

    with pytest.raises(SpoolUnavailableError):
        spool.put([record()], now_ms=NOW_MS)
    with pytest.raises(SpoolUnavailableError):
        list(spool.waiting())
    with pytest.raises(SpoolUnavailableError):
        spool.get("spool/0/1")


def test_an_s3_that_refuses_connections_is_an_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
    settings = AwsSettings(endpoint_url="http://127.0.0.1:1", region_name="us-east-1")
    spool = Spool(s3_client(settings, config=request_config()), "spool")

    with pytest.raises(SpoolUnavailableError):
        spool.put([record()], now_ms=NOW_MS)
