"""What is answered where something that ingest needs fails, and what is counted and logged."""

import json
import time
from collections.abc import Sequence
from typing import Any

import pytest

from clients.circuit_breaker import CircuitBreaker
from clients.kafka.producer import KafkaProducer
from clients.kafka.producer_record import ProducerRecord
from clients.kafka_or_spool import KafkaOrSpool
from fleetlane.events.envelope import KafkaPosition
from fleetlane.events.flows.files import flow_from_toml
from lambdas.ingest.dispatcher import Dispatcher
from tests.unit.lambdas.api_gateway import ACTIVE, NOW_MS, ingest_routes, post
from tests.unit.lambdas.fakes import FakeFlows, FakeKafka, FakePayloads, FakeSpool
from tests.unit.lambdas.test_ingest_routes import RAW_TOPICS, landed


@pytest.fixture
def kafka() -> FakeKafka:
    return FakeKafka(RAW_TOPICS)


@pytest.fixture
def routes(kafka: FakeKafka) -> Dispatcher:
    return ingest_routes(producer=kafka)


def test_kafka_that_does_not_confirm_means_try_later(kafka: FakeKafka) -> None:
    kafka.is_up = False

    answer = post(ingest_routes(producer=kafka))

    assert (answer.status, answer.tag) == (503, "try_later")
    assert answer.headers["Retry-After"] == "5"


def test_s3_that_does_not_confirm_means_try_later_and_no_reference(kafka: FakeKafka) -> None:
    payloads = FakePayloads()
    payloads.is_up = False

    answer = post(ingest_routes(producer=kafka, payloads=payloads), body=bytes(300_000))

    assert (answer.status, answer.tag) == (503, "try_later")
    assert kafka.records() == []


def test_an_unreachable_kafka_and_spool_are_answered_in_time() -> None:
    spool = FakeSpool()
    spool.is_up = False
    lander = KafkaOrSpool(
        producer=KafkaProducer(bootstrap_servers="127.0.0.1:1"),
        spool=spool,
        breaker=CircuitBreaker(),
        now_ms=lambda: NOW_MS,
    )
    began_s = time.monotonic()

    answer = post(ingest_routes(producer=lander))

    assert (answer.status, "Retry-After" in answer.headers) == (503, True)
    assert time.monotonic() - began_s < 5


def test_a_fault_of_ours_means_try_later_and_logs_its_stack_but_no_body(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Faulty:
        def land_all(
            self, records: Sequence[ProducerRecord], *, until_s: float = 0.0
        ) -> list[KafkaPosition]:
            raise KeyError("a fault")

    answer = post(ingest_routes(producer=Faulty()), body=b"the body's own bytes")

    assert (answer.status, answer.tag) == (503, "try_later")
    assert "Traceback" in caplog.text
    assert "the body's own bytes" not in caplog.text


def test_a_request_that_comes_while_another_is_read_does_not_take_its_place() -> None:
    first, second = FakeKafka(RAW_TOPICS), FakeKafka(RAW_TOPICS)
    of_another_thread = ingest_routes(producer=second)

    def now_ms() -> int:
        identity = {**ACTIVE, "device_id": "d-2"}
        post(of_another_thread, "/v1/streams/second", b"of d-2", identity=identity)
        return NOW_MS

    post(ingest_routes(producer=first, now_ms=now_ms), "/v1/streams/first", b"of d-1")

    assert (landed(first).device_id, landed(first).body) == ("d-1", b"of d-1")
    assert (landed(second).device_id, landed(second).body) == ("d-2", b"of d-2")


def test_a_message_is_counted_by_lane_and_size(
    routes: Dispatcher, capsys: pytest.CaptureFixture[str]
) -> None:
    post(routes, body=b"12345")

    logged = capsys.readouterr().out
    assert '"lane":"standard"' in logged
    assert '"Accepted":[1],"BodyBytes":[5]' in logged
    assert f'"Timestamp":{NOW_MS}' in logged


def test_a_message_is_counted_for_its_stream_only_where_that_has_a_flow(
    capsys: pytest.CaptureFixture[str],
) -> None:
    flow = 'stream = "thermo"\nowner = "acme"\n[[parsers]]\nuse = "json"\n'
    routes = ingest_routes(flows=FakeFlows(flow_from_toml(flow, file="thermo.toml")))

    for stream in ("thermo", "of-no-flow"):
        post(routes, f"/v1/streams/{stream}")

    counted = [json.loads(line)["stream"] for line in capsys.readouterr().out.splitlines()]
    assert counted == ["thermo", "(none)"]


@pytest.mark.parametrize(
    ("path", "firmware", "said"),
    [
        ("/v1/streams/Thermo", "1.0", ("no_route", "", "1.0")),
        ("/v1/streams/thermo", "1 0", ("bad_request", "thermo", "")),
        ("/v1/streams/thermo/", "", ("bad_request", "thermo", "")),
        ("/v2", '1.0"', ("no_route", "", '1.0"')),
    ],
)
def test_a_refusal_is_counted_by_its_tag_with_what_is_known_of_the_device(
    routes: Dispatcher,
    capsys: pytest.CaptureFixture[str],
    path: str,
    firmware: str,
    said: tuple[str, ...],
) -> None:
    post(routes, path, headers={"X-Firmware-Version": firmware})

    line = json.loads(capsys.readouterr().out)
    assert (line["tag"], line["stream"], line["firmware"]) == said
    assert (line["device_type"], line["Refused"]) == (ACTIVE["device_type"], [1])


def test_neither_body_nor_token_nor_key_is_logged(
    kafka: FakeKafka, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    secrets: dict[str, Any] = {"Authorization": "Bearer top.secret", "Idempotency-Key": "my-key"}
    kafka.is_up = False

    post(ingest_routes(producer=kafka), body=b"the body's own bytes", headers=secrets)

    logged = capsys.readouterr().out + str([vars(record) for record in caplog.records])
    assert "raw.standard confirmed nothing" in logged
    assert not any(text in logged for text in ("top.secret", "my-key", "the body's own bytes"))


def test_a_problem_has_the_form_of_rfc_9457(routes: Dispatcher) -> None:
    answer = post(routes, "/v1/streams/Thermo")

    assert answer.content_type == "application/problem+json"
    assert answer.body == {
        "type": "urn:fleetlane:problem:no_route",
        "title": "There is nothing at this address",
        "status": 404,
        "detail": "stream 'Thermo' does not match [a-z][a-z0-9-]{0,47}",
    }
