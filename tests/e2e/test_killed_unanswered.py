"""A function dies between what is durable and its answer: the device just sends again."""

import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Final

import httpx
import orjson
import pytest

from fleetlane.events.names import keyed_raw_id
from local.platform import Platform
from local.servers.guard import signal_group
from tests.e2e.conftest import RunningPlatform
from tests.e2e.devices import Device
from tests.e2e.faults import frozen
from tests.e2e.stored import record_of

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.localstack, pytest.mark.faults]

KEY: Final = "sent-twice"
LARGER_THAN_ANY_OTHER_REQUEST_BYTES: Final = 16 * 1024
WITHIN_S_MAX: Final = 60.0


def test_a_message_whose_function_died_before_its_answer_has_one_id_and_one_end(
    running: RunningPlatform,
) -> None:
    platform, device = running.platform, Device.registered(running.platform)
    first = device.accepted("gps", body())  # so that the way to Kafka is open
    again = body()
    raw_id = keyed_raw_id(device.device_id, "gps", KEY, sha256(again).digest())

    with running.keeper.away(), ThreadPoolExecutor(1) as devices:
        with frozen(platform.broker):
            asked = devices.submit(device.post, "gps", again, Idempotency_Key=KEY)
            until(lambda: unread_bytes_of_kafka(platform) > LARGER_THAN_ANY_OTHER_REQUEST_BYTES)
            stop_for_ever(platform)
        assert record_of(platform, "raw.standard", raw_id).value == again
        platform.gateway.kill()
        platform.gateway.start()
    receipt = device.accepted("gps", again, Idempotency_Key=KEY)

    ledger = running.ledger_on([first, receipt])
    assert isinstance(asked.exception(), httpx.HTTPError)
    assert receipt.raw_id == raw_id
    assert (ledger.parsed, ledger.lost, ledger.invented) == (2, 0, 0)
    assert ledger.findings.repeats >= 1


def body() -> bytes:
    """Large, and no compression makes it small."""
    position = {"at": "2026-11-03T14:05:00Z", "lat": 47.37, "lon": 8.54}
    return orjson.dumps(position | {"note": token_hex(2 * LARGER_THAN_ANY_OTHER_REQUEST_BYTES)})


def stop_for_ever(platform: Platform) -> None:
    """The functions do nothing from here on: they cannot even learn that Kafka has confirmed."""
    group_id = platform.gateway.pid
    assert group_id is not None, "not started yet"
    signal_group(group_id, signal.SIGSTOP)


def unread_bytes_of_kafka(platform: Platform) -> int:
    """What waits in one connection to the broker, in that where it is most."""
    port = int(platform.endpoints.kafka.rpartition(":")[2])
    tables = [Path(f"/proc/net/{table}").read_text() for table in ("tcp", "tcp6")]
    rows = [line.split() for table in tables for line in table.splitlines()[1:]]
    ours = [row for row in rows if int(row[1].rpartition(":")[2], 16) == port]
    return max((int(row[4].partition(":")[2], 16) for row in ours), default=0)


def until(is_so: Callable[[], bool]) -> None:
    give_up_s = time.monotonic() + WITHIN_S_MAX
    while not is_so():
        assert time.monotonic() < give_up_s
        time.sleep(0.01)
