"""Kept receipts: the fake, moto's DynamoDB and LocalStack's keep the same promises."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import pytest

from clients.aws import AwsSettings, dynamodb_table, hasty_config
from clients.devices.receipts import (
    KeptReceipt,
    ReceiptStore,
    ReceiptsUnavailableError,
    receipt_key,
)
from fleetlane.events.lanes import Lane
from local.servers.localstack import LocalAws
from operations.endpoints import REGION
from tests.contract.aws_in_process import receipt_table
from tests.unit.lambdas.fake_receipts import FakeReceipts

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.service_resource import Table

NOW_S = 1_790_000_000
KEPT = KeptReceipt(
    raw_id="1" + "0" * 32, lane=Lane.SLOW, landed="object", sha256="ab", expires_s=NOW_S + 60
)
KEY = receipt_key("d-1", "thermo", "k-1")


class Receipts(Protocol):
    def find_all(self, keys: Sequence[str], *, now_s: int) -> Mapping[str, KeptReceipt]: ...

    def keep_all(self, receipts: Mapping[str, KeptReceipt]) -> None: ...


@pytest.fixture
def table() -> "Iterator[Table]":
    with receipt_table() as table:
        yield table


@pytest.fixture
def moto(table: "Table") -> ReceiptStore:
    return ReceiptStore(table)


@pytest.fixture
def localstack(local_aws: LocalAws, monkeypatch: pytest.MonkeyPatch) -> ReceiptStore:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    local_aws.ensure_table("receipt-contract", key="receipt_key")
    settings = AwsSettings(endpoint_url=local_aws.endpoint_url, region_name=REGION)
    return ReceiptStore(dynamodb_table(settings, "receipt-contract"))


@pytest.fixture(params=["fake", "moto", pytest.param("localstack", marks=pytest.mark.localstack)])
def receipts(request: pytest.FixtureRequest) -> Receipts:
    if request.param == "fake":
        return FakeReceipts()
    store: Receipts = request.getfixturevalue(request.param)
    return store


def test_a_receipt_is_found_as_it_was_kept(receipts: Receipts) -> None:
    receipts.keep_all({KEY: KEPT})

    assert receipts.find_all([KEY], now_s=NOW_S) == {KEY: KEPT}


def test_what_was_never_kept_is_not_found(receipts: Receipts) -> None:
    never = receipt_key("d-1", "thermo", "never")

    assert receipts.find_all([never], now_s=NOW_S) == {}


def test_what_has_expired_is_not_found_though_it_may_still_be_there(receipts: Receipts) -> None:
    receipts.keep_all({KEY: KEPT})

    assert receipts.find_all([KEY], now_s=KEPT.expires_s) == {}


def test_a_receipt_kept_again_replaces_the_first(receipts: Receipts) -> None:
    receipts.keep_all({KEY: KEPT})

    receipts.keep_all({KEY: replace(KEPT, sha256="cd")})

    assert receipts.find_all([KEY], now_s=NOW_S)[KEY].sha256 == "cd"


def test_many_are_kept_and_found_at_once(receipts: Receipts) -> None:
    many = {receipt_key("d-1", "thermo", f"many-{n}"): KEPT for n in range(20)}

    receipts.keep_all(many)

    assert receipts.find_all([*many, *many], now_s=NOW_S) == many


def test_more_than_one_call_holds_are_kept_and_found(table: "Table") -> None:
    store = ReceiptStore(table, monotonic=lambda: 0.0)
    many = {receipt_key("d-1", "thermo", f"more-{n}"): KEPT for n in range(130)}

    store.keep_all(many)

    assert store.find_all(list(many), now_s=NOW_S) == many


def test_the_second_call_is_not_made_when_time_is_over(table: "Table") -> None:
    clock = iter([0.0, 0.1, 0.6])
    store = ReceiptStore(table, monotonic=lambda: next(clock))

    with pytest.raises(ReceiptsUnavailableError, match="are over"):
        store.keep_all({f"key-{n}": KEPT for n in range(30)})


def test_a_missing_table_is_an_outage(moto: ReceiptStore, table: "Table") -> None:
    table.delete()

    with pytest.raises(ReceiptsUnavailableError):
        moto.find_all([KEY], now_s=NOW_S)
    with pytest.raises(ReceiptsUnavailableError):
        moto.keep_all({KEY: KEPT})


def test_an_item_that_is_no_receipt_is_an_outage(moto: ReceiptStore, table: "Table") -> None:
    table.put_item(Item={"receipt_key": KEY, "lane": "sideways"})

    with pytest.raises(ReceiptsUnavailableError):
        moto.find_all([KEY], now_s=NOW_S)


def test_a_table_that_refuses_connections_is_an_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
    settings = AwsSettings(endpoint_url="http://127.0.0.1:1", region_name="us-east-1")
    table = dynamodb_table(settings, "receipts", config=hasty_config(seconds=0.2))

    with pytest.raises(ReceiptsUnavailableError):
        ReceiptStore(table).find_all([KEY], now_s=NOW_S)


def test_a_receipt_s_key_tells_nothing_of_the_device_s_own() -> None:
    assert "secret" not in receipt_key("d-1", "thermo", "secret")
    assert receipt_key("d-1", "thermo", "k") != receipt_key("d-2", "thermo", "k")
