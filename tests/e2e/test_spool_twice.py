"""What respool lands twice, as after a crash before it deletes, comes to one end all the same."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import orjson
import pytest

from local.platform import SPOOL_BUCKET
from operations.ledger.message_results import Receipt
from tests.e2e.conftest import RunningPlatform
from tests.e2e.devices import Device
from tests.e2e.faults import frozen
from tests.e2e.stored import object_bytes, object_keys

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.localstack, pytest.mark.faults]

MESSAGES: Final = 5
WITHIN_S_MAX: Final = 90.0
POSITION: Final = {"at": "2026-11-03T14:05:00Z", "lat": 47.37}


def test_spooled_messages_that_are_brought_twice_are_parsed_once_and_not_lost(
    running: RunningPlatform,
) -> None:
    s3, device = running.platform.s3, Device.registered(running.platform)
    with frozen(running.platform.broker):
        receipts = [device.accepted("gps", body(number)) for number in range(MESSAGES)]
        spooled = contents(s3)
    until(lambda: not object_keys(s3, SPOOL_BUCKET))

    for key, content in spooled.items():
        s3.put_object(Bucket=SPOOL_BUCKET, Key=key, Body=content)
    until(lambda: not object_keys(s3, SPOOL_BUCKET))

    ledger = running.ledger_on(receipts)
    assert (len(spooled), ids_in(spooled)) == (MESSAGES, ids_of(receipts))
    assert (ledger.parsed, ledger.lost, ledger.invented) == (MESSAGES, 0, 0)
    assert ledger.findings.repeats >= MESSAGES


def body(number: int) -> bytes:
    return orjson.dumps(POSITION | {"lon": number / 10})


def contents(s3: "S3Client") -> dict[str, bytes]:
    keys = object_keys(s3, SPOOL_BUCKET)
    return {key: object_bytes(s3, SPOOL_BUCKET, key) for key in keys}


def ids_in(spooled: dict[str, bytes]) -> set[str]:
    return {key.rsplit("/", 1)[1].split("-")[0] for key in spooled}


def ids_of(receipts: list[Receipt]) -> set[str]:
    return {receipt.raw_id for receipt in receipts}


def until(is_so: Callable[[], bool]) -> None:
    give_up_s = time.monotonic() + WITHIN_S_MAX
    while not is_so():
        assert time.monotonic() < give_up_s
        time.sleep(0.1)
