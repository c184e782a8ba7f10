"""Many messages in one request: each is answered, and a bad one stops no other."""

import json

import pytest

from clients.devices.registry import DeviceStatus, RegisteredDevice, RegistryUnavailableError
from fleetlane.events.envelope import Message
from fleetlane.events.envelope_reading import message_from
from fleetlane.events.lanes import INLINE_BYTES_MAX, Lane
from lambdas.ingest.batch_document import ENTRIES_MAX
from lambdas.ingest.dispatcher import Dispatcher
from tests.unit.lambdas.api_gateway import ACTIVE, NOW_MS, ingest_routes, post
from tests.unit.lambdas.cloud_events import BATCH, entry, post_batch, tags
from tests.unit.lambdas.fakes import FakeDevices, FakeKafka, FakePayloads

RAW_TOPICS = ("raw.fast", "raw.standard", "raw.bulk.large", "raw.bulk.late", "raw.bulk.quarantined")


@pytest.fixture
def kafka() -> FakeKafka:
    return FakeKafka(RAW_TOPICS)


@pytest.fixture
def devices() -> FakeDevices:
    return FakeDevices(
        registered("behind", gateway_id="d-1"),
        registered("of-another", gateway_id="gw-2"),
        registered("on-its-own"),
        registered("revoked", gateway_id="d-1", status=DeviceStatus.REVOKED),
        registered("doubtful", gateway_id="d-1", status=DeviceStatus.QUARANTINED),
    )


@pytest.fixture
def routes(kafka: FakeKafka, devices: FakeDevices) -> Dispatcher:
    return ingest_routes(producer=kafka, devices=devices)


def registered(
    device_id: str, *, gateway_id: str | None = None, status: DeviceStatus = DeviceStatus.ACTIVE
) -> RegisteredDevice:
    return RegisteredDevice(
        device_id=device_id,
        device_type="meter",
        status=status,
        keys=(),
        gateway_id=gateway_id,
        registered_ms=0,
    )


def landed(kafka: FakeKafka) -> list[Message]:
    return [message_from(record.headers, record.value) for record in kafka.records()]


def test_every_entry_has_a_receipt_in_its_place(routes: Dispatcher, kafka: FakeKafka) -> None:
    answer = post_batch(routes, entry("e-1", data=1), entry("e-2", data=2))

    assert answer.status == 202
    assert answer.body["receipts"] == [
        {
            "status": 202,
            "id": message.raw_id,
            "lane": "standard",
            "landed": "kafka",
            "next_upload_after_s": 0,
            "notices": ["no_flow"],
        }
        for message in landed(kafka)
    ]


def test_a_bad_entry_stops_no_other_and_the_answer_is_no_202(
    routes: Dispatcher, kafka: FakeKafka
) -> None:
    answer = post_batch(routes, entry("e-1"), entry("e-2", type="No Stream"), entry("e-3"))

    assert (answer.status, tags(answer)) == (207, ["", "bad_request", ""])
    assert len(kafka.records()) == 2


def test_a_refused_entry_is_a_problem_with_a_status_of_its_own(routes: Dispatcher) -> None:
    answer = post_batch(routes, entry("e-1", specversion="0.3"))

    assert answer.body["receipts"] == [
        {
            "type": "urn:fleetlane:problem:bad_request",
            "title": "The request is not allowed as it is",
            "status": 400,
            "detail": "attribute specversion is '0.3'; allowed: 1.0",
        }
    ]


def test_an_empty_batch_is_a_batch(routes: Dispatcher) -> None:
    answer = post_batch(routes)

    assert (answer.status, answer.body) == (202, {"receipts": []})


def test_an_entry_s_attributes_travel_with_its_message(
    routes: Dispatcher, kafka: FakeKafka
) -> None:
    post_batch(
        routes,
        entry(
            datacontenttype="text/csv",
            data="a,b",
            firmware="2.1.0",
            startmillis="1",
            endmillis=str(NOW_MS),
            bodyencoding="gzip",
        ),
    )

    (message,) = landed(kafka)
    assert (message.stream, message.arrival_millis) == ("thermo", NOW_MS)
    assert (message.content_type, message.body) == ("text/csv", b"a,b")
    assert (message.firmware, message.body_encoding) == ("2.1.0", "gzip")
    assert (message.start_millis, message.end_millis) == (1, NOW_MS)


def test_an_entry_sent_again_has_the_id_that_it_had(routes: Dispatcher) -> None:
    first = post_batch(routes, entry("e-1", data=1)).body["receipts"]

    again = post_batch(routes, entry("e-1", data=1), entry("e-1", data=2)).body["receipts"]

    assert (again[0]["id"] == first[0]["id"], again[1]["id"] == first[0]["id"]) == (True, False)


def test_an_entry_has_the_id_of_the_same_message_sent_alone(routes: Dispatcher) -> None:
    alone = post(routes, body=b"21.5", headers={"Idempotency-Key": "e-1"}).body["id"]

    batched = post_batch(routes, entry("e-1", data=21.5)).body["receipts"]

    assert batched[0]["id"] == alone


def test_a_gateway_speaks_for_the_devices_bound_to_it(routes: Dispatcher, kafka: FakeKafka) -> None:
    answer = post_batch(routes, entry(device="behind"), entry(device="d-1"))

    behind, own = landed(kafka)
    assert answer.status == 202
    assert (behind.device_id, behind.device_type, behind.via) == ("behind", "meter", "d-1")
    assert (own.device_id, own.device_type, own.via) == ("d-1", "acme-thermo", None)


@pytest.mark.parametrize("device", ["of-another", "on-its-own", "nobody", "revoked"])
def test_nobody_speaks_for_another_device(
    routes: Dispatcher, kafka: FakeKafka, device: str
) -> None:
    answer = post_batch(routes, entry("e-1", device=device), entry("e-2"))

    assert (answer.status, tags(answer)) == (207, ["forbidden", ""])
    assert [message.device_id for message in landed(kafka)] == ["d-1"]


def test_an_unknown_device_is_refused_as_a_foreign_one_is(routes: Dispatcher) -> None:
    answer = post_batch(routes, entry(device="nobody"), entry(device="of-another"))

    unknown, foreign = (one["detail"] for one in answer.body["receipts"])
    assert unknown.replace("nobody", "of-another") == foreign


def test_what_a_quarantined_device_or_gateway_sends_goes_to_the_bulk_lane(
    routes: Dispatcher, kafka: FakeKafka
) -> None:
    post_batch(routes, entry("e-1", device="doubtful"), entry("e-2", device="behind"))
    quarantined = {**ACTIVE, "status": "quarantined"}

    post_batch(routes, entry("e-3", device="behind"), identity=quarantined)

    lanes = [(message.device_id, message.lane) for message in landed(kafka)]
    assert sorted(lanes) == [
        ("behind", Lane.BULK), ("behind", Lane.STANDARD), ("doubtful", Lane.BULK),
    ]  # fmt: skip


class NoRegistry:
    def find_all(self, device_ids: object) -> dict[str, RegisteredDevice]:
        raise RegistryUnavailableError("no answer")


def test_without_the_registry_a_gateway_s_own_messages_land_and_the_others_try_later(
    kafka: FakeKafka,
) -> None:
    routes = ingest_routes(producer=kafka, devices=NoRegistry())

    answer = post_batch(routes, entry("e-1", device="behind"), entry("e-2"))

    assert (answer.status, tags(answer)) == (207, ["try_later", ""])
    assert answer.body["receipts"][0]["retry_after_s"] == 5
    assert answer.headers["Retry-After"] == "5"


def test_when_kafka_does_not_confirm_every_entry_is_asked_to_try_later(kafka: FakeKafka) -> None:
    kafka.is_up = False

    answer = post_batch(ingest_routes(producer=kafka), entry("e-1"), entry("e-2"))

    assert (answer.status, tags(answer)) == (207, ["try_later", "try_later"])


def test_a_batch_costs_one_wait_for_kafka(routes: Dispatcher, kafka: FakeKafka) -> None:
    post_batch(routes, *(entry(f"e-{n}") for n in range(100)))

    assert (kafka.asked, len(kafka.records())) == (1, 100)


def test_a_batch_that_comes_while_another_is_read_does_not_take_its_place() -> None:
    first, second = FakeKafka(RAW_TOPICS), FakeKafka(RAW_TOPICS)
    of_another_thread = ingest_routes(producer=second)

    def now_ms() -> int:
        post_batch(of_another_thread, entry(device="d-2"), identity={**ACTIVE, "device_id": "d-2"})
        return NOW_MS

    post_batch(ingest_routes(producer=first, now_ms=now_ms), entry(device="d-1"))

    assert [message.device_id for message in landed(first)] == ["d-1"]
    assert [message.device_id for message in landed(second)] == ["d-2"]


def test_large_entries_go_by_reference(kafka: FakeKafka) -> None:
    payloads = FakePayloads()
    routes = ingest_routes(producer=kafka, payloads=payloads)
    large = "x" * (INLINE_BYTES_MAX + 1)
    text = {"datacontenttype": "text/plain"}

    answer = post_batch(
        routes, entry("e-1", data=large, **text), entry("e-2"), entry("e-3", data=large, **text)
    )

    assert [one["landed"] for one in answer.body["receipts"]] == ["object", "kafka", "object"]
    assert list(payloads.objects.values()) == 2 * [large.encode()]


def test_without_s3_only_the_large_entries_try_later(kafka: FakeKafka) -> None:
    payloads = FakePayloads()
    payloads.is_up = False
    routes = ingest_routes(producer=kafka, payloads=payloads)

    answer = post_batch(routes, entry("e-1", data="x" * (INLINE_BYTES_MAX + 1)), entry("e-2"))

    assert (answer.status, tags(answer)) == (207, ["try_later", ""])


def test_a_batch_with_too_many_entries_is_too_large_and_nothing_is_stored(
    routes: Dispatcher, kafka: FakeKafka
) -> None:
    answer = post_batch(routes, *(entry(f"e-{n}") for n in range(ENTRIES_MAX + 1)))

    assert (answer.status, answer.tag) == (413, "too_large")
    assert answer.body["detail"] == "the batch has 501 entries; the limit is 500 entries"
    assert kafka.records() == []


def test_a_batch_over_the_limit_is_too_large_and_nothing_is_stored(
    routes: Dispatcher, kafka: FakeKafka
) -> None:
    answer = post_batch(routes, entry(data="x" * 1_000_000))

    assert (answer.status, answer.tag) == (413, "too_large")
    assert answer.body["detail"].endswith("send it in parts")
    assert kafka.records() == []


@pytest.mark.parametrize(
    "document", [b"", b"{}", b"[", b"nope", b"[1]x", b"[" * 100_000, b'[{"a": \xff}]']
)
def test_what_is_no_json_array_is_a_bad_request_and_nothing_is_stored(
    routes: Dispatcher, kafka: FakeKafka, document: bytes
) -> None:
    answer = post(routes, "/v1/batch", document, headers=BATCH)

    assert (answer.status, answer.tag) == (400, "bad_request")
    assert kafka.records() == []


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Content-Type": "application/json"},
        {"Content-Type": "application/cloudevents+json"},
        BATCH | {"Content-Encoding": "gzip"},
        BATCH | {"Idempotency-Key": "k"},
        BATCH | {"X-Firmware-Version": "1"},
        BATCH | {"X-Body-Encoding": "gzip"},
    ],
)
def test_a_header_that_a_batch_does_not_have_is_a_bad_request(
    routes: Dispatcher, headers: dict[str, str]
) -> None:
    answer = post_batch(routes, entry(), headers=headers)

    assert (answer.status, answer.tag) == (400, "bad_request")


def test_a_content_type_may_name_its_charset(routes: Dispatcher) -> None:
    headers = {"content-type": "application/cloudevents-batch+json; charset=utf-8"}

    assert post_batch(routes, entry(), headers=headers).status == 202


def test_a_batch_without_an_identity_is_unauthenticated(routes: Dispatcher) -> None:
    answer = post_batch(routes, entry(), identity=None)

    assert (answer.status, answer.tag) == (401, "unauthenticated")


def test_a_batch_is_counted_in_a_line_a_lane_and_a_line_a_tag(
    routes: Dispatcher, capsys: pytest.CaptureFixture[str]
) -> None:
    post_batch(routes, entry("e-1", data=12345), entry("e-2", data=1), entry("e-3", id=""), "no")

    logged = capsys.readouterr().out
    assert '"stream":"(none)"' in logged
    assert '"Accepted":[2],"BodyBytes":[6]' in logged
    assert '"Refused":[2]' in logged


def test_a_batch_s_refusals_are_counted_by_stream_and_firmware_too(
    routes: Dispatcher, capsys: pytest.CaptureFixture[str]
) -> None:
    foreign = [entry(f"e-{n}", device="of-another", firmware=f"{n // 2}.0") for n in range(3)]

    post_batch(routes, *foreign)

    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    found = [tuple(one[name] for name in ("tag", "stream", "firmware", "Refused")) for one in lines]
    assert found == [("forbidden", "thermo", "0.0", [2]), ("forbidden", "thermo", "1.0", [1])]
