"""The overrides: the fake, moto's S3 and LocalStack's keep the same promises."""

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol

import pytest

from clients.aws import AwsSettings, s3_client
from clients.devices.overrides import OverridesStore, OverridesUnavailableError
from fleetlane.events.overrides import (
    OVERRIDES_BYTES_MAX,
    BadOverridesError,
    DeviceOverride,
    Overrides,
    RateLimits,
    Restriction,
)
from fleetlane.events.s3_keys import OVERRIDES_KEY
from local.servers.localstack import LocalAws
from operations.endpoints import REGION
from tests.contract.aws_in_process import buckets
from tests.unit.lambdas.fake_overrides import FakeOverrides

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

NOW_MS = 1_790_000_000_000
REVOKED = DeviceOverride(status=Restriction.REVOKED)
BUCKET = "overrides-contract"


class Changeable(Protocol):
    def read(self) -> Overrides: ...

    def change(self, changed: Callable[[Overrides], Overrides], *, now_ms: int) -> Overrides: ...


@pytest.fixture
def moto_s3() -> "Iterator[S3Client]":
    with buckets(BUCKET) as s3:
        yield s3


@pytest.fixture
def localstack_s3(local_aws: LocalAws, monkeypatch: pytest.MonkeyPatch) -> "S3Client":
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    local_aws.ensure_bucket(BUCKET)
    s3 = s3_client(AwsSettings(endpoint_url=local_aws.endpoint_url, region_name=REGION))
    s3.delete_object(Bucket=BUCKET, Key=OVERRIDES_KEY)
    return s3


@pytest.fixture(params=["moto_s3", pytest.param("localstack_s3", marks=pytest.mark.localstack)])
def s3(request: pytest.FixtureRequest) -> "S3Client":
    s3: S3Client = request.getfixturevalue(request.param)
    return s3


@pytest.fixture(
    params=["fake", "moto_s3", pytest.param("localstack_s3", marks=pytest.mark.localstack)]
)
def store(request: pytest.FixtureRequest) -> Changeable:
    if request.param == "fake":
        return FakeOverrides()
    return OverridesStore(request.getfixturevalue(request.param), BUCKET)


def test_where_nothing_was_ever_written_there_are_none(store: Changeable) -> None:
    assert store.read() == Overrides()


def test_what_was_changed_is_read_back(store: Changeable) -> None:
    written = store.change(_revoked("d-1"), now_ms=NOW_MS)

    assert (store.read(), written.restriction("d-1", now_ms=NOW_MS)) == (written, "revoked")


def test_a_change_is_made_to_what_is_there(store: Changeable) -> None:
    store.change(_revoked("d-1"), now_ms=NOW_MS)

    store.change(_revoked("d-2"), now_ms=NOW_MS)

    assert set(store.read().devices) == {"d-1", "d-2"}


def test_each_change_has_the_next_number(store: Changeable) -> None:
    versions = [store.change(_revoked("d-1"), now_ms=NOW_MS).version for _ in range(3)]

    assert versions == [1, 2, 3]


def test_what_has_ended_is_left_out_by_the_next_change(store: Changeable) -> None:
    short = DeviceOverride(status=Restriction.QUARANTINED, until_ms=NOW_MS + 1)
    store.change(lambda present: present.restricted(["d-1"], short), now_ms=NOW_MS)

    store.change(_revoked("d-2"), now_ms=NOW_MS + 1)

    assert set(store.read().devices) == {"d-2"}


def test_more_than_fits_is_refused_and_what_was_there_stays(store: Changeable) -> None:
    store.change(_revoked("d-1"), now_ms=NOW_MS)
    too_many = [f"{number:064}" for number in range(OVERRIDES_BYTES_MAX // 64)]

    with pytest.raises(BadOverridesError, match="the limit is 1048576 bytes"):
        store.change(_revoked(*too_many), now_ms=NOW_MS)

    assert set(store.read().devices) == {"d-1"}


def test_rate_limits_are_read_back(store: Changeable) -> None:
    rate_limits = RateLimits(soft_per_minute=10, hard_per_minute=20)

    store.change(
        lambda present: present.with_rate_limits(rate_limits, device_id="d-1"), now_ms=NOW_MS
    )

    assert store.read().rate_limits_of("d-1", of_stage=None) == rate_limits


def test_of_many_writers_at_once_none_undoes_what_another_wrote(s3: "S3Client") -> None:
    store = OverridesStore(s3, BUCKET)
    meeting = threading.Barrier(3)

    def revoke(device_id: str) -> None:
        meeting.wait()
        store.change(_revoked(device_id), now_ms=NOW_MS)

    writers = [threading.Thread(target=revoke, args=(f"d-{number}",)) for number in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    assert set(store.read().devices) == {"d-0", "d-1", "d-2"}


def test_a_change_that_was_overtaken_is_made_again_on_what_is_there_now(s3: "S3Client") -> None:
    pauses: list[float] = []
    store = OverridesStore(s3, BUCKET, pause=pauses.append)
    others = OverridesStore(s3, BUCKET)

    def overtaken_once(present: Overrides) -> Overrides:
        if not pauses:
            others.change(_revoked("d-other"), now_ms=NOW_MS)
        return present.restricted(["d-1"], REVOKED)

    store.change(overtaken_once, now_ms=NOW_MS)

    assert (set(store.read().devices), len(pauses)) == ({"d-1", "d-other"}, 1)


def test_an_object_that_was_there_and_is_gone_is_no_obstacle(s3: "S3Client") -> None:
    pauses: list[float] = []
    store = OverridesStore(s3, BUCKET, pause=pauses.append)
    store.change(_revoked("d-1"), now_ms=NOW_MS)

    def deleted_once(present: Overrides) -> Overrides:
        if not pauses:
            s3.delete_object(Bucket=BUCKET, Key=OVERRIDES_KEY)
        return present.restricted(["d-2"], REVOKED)

    store.change(deleted_once, now_ms=NOW_MS)

    assert set(store.read().devices) == {"d-2"}


def test_who_is_always_overtaken_gives_up(s3: "S3Client") -> None:
    others = OverridesStore(s3, BUCKET)
    store = OverridesStore(s3, BUCKET, pause=lambda _: None)

    def overtaken(present: Overrides) -> Overrides:
        others.change(_revoked("d-other"), now_ms=NOW_MS)
        return present.restricted(["d-1"], REVOKED)

    with pytest.raises(OverridesUnavailableError, match="8 times"):
        store.change(overtaken, now_ms=NOW_MS)

    assert set(store.read().devices) == {"d-other"}


@pytest.mark.parametrize("content", [b"", b"[]", b'{"devices": {"a/b": {"status": "revoked"}}}'])
def test_what_are_no_overrides_can_neither_be_read_nor_written_over(
    moto_s3: "S3Client", content: bytes
) -> None:
    moto_s3.put_object(Bucket=BUCKET, Key=OVERRIDES_KEY, Body=content)

    with pytest.raises(OverridesUnavailableError):
        OverridesStore(moto_s3, BUCKET).change(_revoked("d-1"), now_ms=NOW_MS)

    assert moto_s3.get_object(Bucket=BUCKET, Key=OVERRIDES_KEY)["Body"].read() == content


def test_an_object_over_the_limit_is_not_taken_in(moto_s3: "S3Client") -> None:
    huge = b'{"devices": {}}' + b" " * OVERRIDES_BYTES_MAX
    moto_s3.put_object(Bucket=BUCKET, Key=OVERRIDES_KEY, Body=huge)

    with pytest.raises(OverridesUnavailableError, match="the limit is 1048576 bytes"):
        OverridesStore(moto_s3, BUCKET).read()


def test_a_missing_bucket_is_an_outage_and_not_an_absence(s3: "S3Client") -> None:
    with pytest.raises(OverridesUnavailableError, match="NoSuchBucket"):
        OverridesStore(s3, "not-there").read()


def _revoked(*device_ids: str) -> Callable[[Overrides], Overrides]:
    return lambda present: present.restricted(device_ids, REVOKED)
