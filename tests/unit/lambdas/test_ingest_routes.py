import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetlane.events.envelope import Message
from fleetlane.events.envelope_reading import message_from
from fleetlane.events.times import MILLIS_MAX, MILLIS_MIN
from lambdas.ingest.dispatcher import Dispatcher
from tests.unit.lambdas.api_gateway import ACTIVE, event, ingest_routes, post, send
from tests.unit.lambdas.fakes import FakeKafka, FakePayloads

RAW_TOPICS = ("raw.fast", "raw.standard", "raw.slow")


@pytest.fixture
def kafka() -> FakeKafka:
    return FakeKafka(RAW_TOPICS)


@pytest.fixture
def routes(kafka: FakeKafka) -> Dispatcher:
    return ingest_routes(producer=kafka)


def landed(kafka: FakeKafka) -> Message:
    (record,) = kafka.records()
    return message_from(record.headers, record.value)


def test_a_message_is_answered_with_its_receipt(routes: Dispatcher, kafka: FakeKafka) -> None:
    answer = post(routes)

    assert answer.status == 202
    assert answer.body == {
        "id": landed(kafka).raw_id,
        "lane": "standard",
        "landed": "kafka",
        "next_upload_after_s": 0,
        "notices": ["no_flow"],
    }


@given(st.binary(max_size=2000))
def test_any_body_lands_byte_for_byte(body: bytes) -> None:
    kafka = FakeKafka(RAW_TOPICS)

    post(ingest_routes(producer=kafka), body=body)

    assert landed(kafka).body == body


def test_an_empty_body_is_a_message(routes: Dispatcher, kafka: FakeKafka) -> None:
    answer = post(routes, body=None)

    assert answer.status == 202
    assert landed(kafka).body == b""


def test_a_body_that_api_gateway_left_as_text_lands_as_utf_8(
    routes: Dispatcher, kafka: FakeKafka
) -> None:
    text = event("POST", "/v1/streams/thermo") | {"body": "21.5 °C"}

    send(routes, text)

    assert landed(kafka).body == "21.5 °C".encode()


@pytest.mark.parametrize("body", ["!!!!", "aGVsbG8", "aGVs bG8=", "aGVsbG8=\n"])
def test_invalid_base64_from_the_gateway_is_a_bad_request_and_nothing_is_stored(
    routes: Dispatcher, kafka: FakeKafka, body: str
) -> None:
    broken = event("POST", "/v1/streams/thermo") | {"body": body, "isBase64Encoded": True}

    answer = send(routes, broken)

    assert (answer.status, answer.tag) == (400, "bad_request")
    assert kafka.records() == []


def test_what_a_device_declares_travels_with_its_message(
    routes: Dispatcher, kafka: FakeKafka
) -> None:
    post(
        routes,
        headers={
            "content-type": "text/csv; charset=utf-8",
            "x-firmware-version": "2.1.0",
            "X-DATA-START-MILLIS": "1789999990000",
            "X-Data-End-Millis": "1789999999000",
            "X-Body-Encoding": "gzip",
        },
    )

    message = landed(kafka)
    assert message.content_type == "text/csv; charset=utf-8"
    assert message.firmware == "2.1.0"
    assert (message.start_millis, message.end_millis) == (1_789_999_990_000, 1_789_999_999_000)
    assert message.body_encoding == "gzip"


def test_the_identity_is_the_authorizer_s_whatever_the_device_says(
    routes: Dispatcher, kafka: FakeKafka
) -> None:
    post(routes, headers={"device_id": "d-2", "ce_source": "/devices/d-2"})

    assert landed(kafka).device_id == "d-1"


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("Content-Type", "x" * 257),
        ("Content-Type", "text/plain\x00"),
        ("Idempotency-Key", ""),
        ("Idempotency-Key", "k" * 257),
        ("Idempotency-Key", "two words"),
        ("Idempotency-Key", "schlüssel"),
        ("X-Firmware-Version", "1" * 65),
        ("X-Firmware-Version", "1 beta"),
        ("X-Data-Start-Millis", "yesterday"),
        ("X-Data-Start-Millis", "1.5"),
        ("X-Data-End-Millis", "1" * 19),
        ("X-Data-End-Millis", "١٢٣"),
        ("X-Data-End-Millis", "-999999999999999999"),
        ("X-Data-End-Millis", str(MILLIS_MAX + 1)),
        ("X-Data-Start-Millis", str(MILLIS_MIN - 1)),
        ("X-Body-Encoding", "br"),
        ("X-Body-Encoding", "GZIP"),
        ("Content-Encoding", "gzip"),
    ],
)
def test_a_header_that_is_not_allowed_is_named_and_nothing_is_stored(
    routes: Dispatcher, kafka: FakeKafka, header: str, value: str
) -> None:
    answer = post(routes, headers={header: value})

    assert (answer.status, answer.tag) == (400, "bad_request")
    assert answer.body["detail"].startswith(f"header {header} is {value[:20]!r}"[:-1])
    assert "; allowed: " in answer.body["detail"]
    assert kafka.records() == []


def test_a_declared_time_may_be_in_any_year_that_has_four_digits(
    routes: Dispatcher, kafka: FakeKafka
) -> None:
    far = {"X-Data-Start-Millis": str(MILLIS_MIN), "X-Data-End-Millis": str(MILLIS_MAX)}

    post(routes, headers=far)

    message = landed(kafka)
    assert (message.start_millis, message.end_millis) == (MILLIS_MIN, MILLIS_MAX)


def test_data_that_ends_before_it_starts_is_a_bad_request(routes: Dispatcher) -> None:
    answer = post(routes, headers={"X-Data-Start-Millis": "20", "X-Data-End-Millis": "10"})

    assert answer.body["detail"] == (
        "header X-Data-Start-Millis is '20'; allowed: at most X-Data-End-Millis, 10"
    )


def test_a_long_value_is_cut_in_the_answer(routes: Dispatcher) -> None:
    answer = post(routes, headers={"X-Firmware-Version": "9" * 5000})

    assert len(answer.body["detail"]) < 200


def test_a_content_encoding_receives_the_other_header(routes: Dispatcher) -> None:
    answer = post(routes, headers={"Content-Encoding": "gzip"})

    assert "X-Body-Encoding" in answer.body["detail"]


@pytest.mark.parametrize("stream", ["Thermo", "1st", "a_b", "a.b", "x" * 49, "%2e%2e", "é"])
def test_a_stream_outside_the_pattern_has_no_route(
    routes: Dispatcher, kafka: FakeKafka, stream: str
) -> None:
    answer = post(routes, f"/v1/streams/{stream}")

    assert (answer.status, answer.tag) == (404, "no_route")
    assert kafka.records() == []


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/v1/elsewhere"), ("POST", "/"), ("GET", "/v1/elsewhere/thermo")]
)
def test_an_unknown_path_has_no_route(routes: Dispatcher, method: str, path: str) -> None:
    answer = send(routes, event(method, path))

    assert (answer.status, answer.tag) == (404, "no_route")


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("GET", "/v1/fast/thermo", "POST"),
        ("PUT", "/v1/health", "GET"),
        ("GET", "/v1/batch", "POST"),
    ],
)
def test_a_path_that_takes_another_method_says_which(
    routes: Dispatcher, method: str, path: str, allow: str
) -> None:
    answer = routes.resolve(event(method, path))

    assert (answer["statusCode"], answer["multiValueHeaders"]["Allow"]) == (405, [allow])
    assert "urn:fleetlane:problem:no_method" in answer["body"]


def test_a_slash_behind_the_stream_changes_nothing(routes: Dispatcher, kafka: FakeKafka) -> None:
    answer = post(routes, "/v1/streams/thermo/")

    assert (answer.status, landed(kafka).stream) == (202, "thermo")


@pytest.mark.parametrize(
    "identity",
    [
        None,
        {},
        {"principalId": "d-1"},
        {**ACTIVE, "device_id": "a/b"},
        {**ACTIVE, "device_type": ""},
        {**ACTIVE, "status": "sleepy"},
    ],
)
def test_a_request_without_an_identity_is_unauthenticated_and_nothing_is_stored(
    routes: Dispatcher, kafka: FakeKafka, identity: dict[str, str] | None
) -> None:
    answer = post(routes, identity=identity)

    assert (answer.status, answer.tag) == (401, "unauthenticated")
    assert kafka.records() == []


def test_a_revoked_device_is_forbidden_even_if_it_gets_this_far(
    routes: Dispatcher, kafka: FakeKafka
) -> None:
    answer = post(routes, identity={**ACTIVE, "status": "revoked"})

    assert (answer.status, answer.tag) == (403, "forbidden")
    assert kafka.records() == []


def test_a_body_over_the_limit_is_too_large_and_nothing_is_stored(kafka: FakeKafka) -> None:
    payloads = FakePayloads()

    answer = post(ingest_routes(producer=kafka, payloads=payloads), body=bytes(1_000_001))

    assert (answer.status, answer.tag) == (413, "too_large")
    assert answer.body["detail"] == (
        "the body is 1000001 bytes; the limit is 1000000 bytes; "
        "POST /v1/uploads/{stream} takes more"
    )
    assert (kafka.records(), payloads.objects) == ([], {})
