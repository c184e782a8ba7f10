"""``fleetlane tail`` of a topic where others write too."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from msgspec.structs import replace
from typer.testing import CliRunner, Result

from fleetlane.cli.main import app
from local.data_folder import announced, taken_data_folder
from tests.brokers import broker_in_process
from tests.unit.cli.test_parked_commands import NOWHERE

TOPIC = "raw.standard"
PATIENCE_S = 60
type Tail = Callable[..., Result]


@pytest.fixture
def producer(tmp_path: Path) -> Iterator[Producer]:
    with (
        broker_in_process() as (producer, address),
        taken_data_folder(tmp_path),
        announced(replace(NOWHERE, kafka=address), tmp_path),
    ):
        yield producer


@pytest.fixture
def tail(producer: Producer, tmp_path: Path) -> Tail:
    def run(*arguments: str) -> Result:
        words = ["tail", TOPIC, "--data", str(tmp_path), "--format", "value", *arguments]
        return CliRunner().invoke(app, words)

    return run


def write(producer: Producer, device_id: str, records: int = 1) -> None:
    for _ in range(records):
        source = f"/devices/{device_id}".encode()
        producer.produce(TOPIC, value=device_id.encode(), headers=[("ce_source", source)])
    producer.flush(5)


def test_a_device_is_silent_though_others_are_not(producer: Producer, tail: Tail) -> None:
    write(producer, "d-2")
    is_over = threading.Event()

    def go_on() -> None:
        for _ in range(PATIENCE_S * 10):
            write(producer, "d-2")
            if is_over.wait(0.1):
                return

    others = threading.Thread(target=go_on)
    others.start()
    result = tail("--device", "d-1", "--timeout-s", "0.5", "--limit", "1")
    is_others_writing = others.is_alive()
    is_over.set()
    others.join()

    assert (result.exit_code, is_others_writing) == (1, True)
    assert "no record for 0.5 s after 0 of 1 records" in result.stderr


def test_what_is_still_read_of_the_past_is_no_silence(producer: Producer, tail: Tail) -> None:
    write(producer, "d-2", records=1_200)
    write(producer, "d-1")

    result = tail("--from-beginning", "--device", "d-1", "--timeout-s", "0", "--limit", "1")

    assert (result.exit_code, result.stdout) == (0, "d-1\n")
