"""What respool lands twice, as after a crash before it deletes, comes to one end all the same."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import orjson
import pytest

from clients.kafka.producer_record import ProducerRecord
from clients.s3.spool import Spool, records_in
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


def test_of_an_object_with_a_record_that_kafka_refuses_all_others_land_and_it_alone_stays(
    running: RunningPlatform,
) -> None:
    s3, device = running.platform.s3, Device.registered(running.platform)
    refused = ProducerRecord(topic="raw.fast.stream.nobody-made-this", key=b"1", value=b"{}")
    spool = Spool(s3, SPOOL_BUCKET)
    with frozen(running.platform.broker):
        receipts = [device.accepted("gps", body(number)) for number in range(MESSAGES)]
        spooled = contents(s3)
        records = [one for key, found in spooled.items() for one in records_in(found, key=key)]
        spool.put([*records, refused], now_ms=time.time_ns() // 1_000_000)
        spool.delete([*spooled])

    until(lambda: [records_in(one, key=key) for key, one in contents(s3).items()] == [[refused]])
    left = object_keys(s3, SPOOL_BUCKET)
    later = device.accepted("gps", body(MESSAGES))
    ledger = running.ledger_on([*receipts, later])
    stays = object_keys(s3, SPOOL_BUCKET)
    spool.delete([*stays])

    assert (ledger.parsed, ledger.lost, ledger.invented) == (MESSAGES + 1, 0, 0)
    assert stays == left


def body(number: int) -> bytes:
    return orjson.dumps(POSITION | {"lon": number / 10})


def contents(s3: "S3Client") -> dict[str, bytes]:
    """What the spool holds; respool may delete an object while this goes on."""
    found = dict[str, bytes]()
    for key in object_keys(s3, SPOOL_BUCKET):
        with suppress(s3.exceptions.NoSuchKey):
            found[key] = object_bytes(s3, SPOOL_BUCKET, key)
    return found


def ids_in(spooled: dict[str, bytes]) -> set[str]:
    return {key.rsplit("/", 1)[1].split("-")[0] for key in spooled}


def ids_of(receipts: list[Receipt]) -> set[str]:
    return {receipt.raw_id for receipt in receipts}


def until(is_so: Callable[[], bool]) -> None:
    give_up_s = time.monotonic() + WITHIN_S_MAX
    while not is_so():
        assert time.monotonic() < give_up_s
        time.sleep(0.1)
