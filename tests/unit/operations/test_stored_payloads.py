"""Large bodies, wherever they are by now; and records made whole for a file."""

from collections.abc import Iterator

import pytest

from clients.s3.payload_bucket import PayloadMissingError
from fleetlane.events.envelope import PayloadReference, raw_headers
from fleetlane.events.envelope_reading import message_from
from fleetlane.events.record_json import record_from_json, record_json
from fleetlane.parsers.testkit.samples import recorded_trial
from operations.messages.stores import StoredPayloads
from tests.unit.operations.stored_messages import (
    BODY,
    FakeStore,
    by_reference,
    message_of,
    payloads,
)


@pytest.fixture(scope="module")
def kept() -> Iterator[StoredPayloads]:
    with payloads(landed=["payloads/1"], parked=["parked/payloads/2"]) as kept:
        yield kept


@pytest.mark.parametrize(
    ("key", "found"),
    [
        ("payloads/1", "payloads/1"),
        ("payloads/2", "parked/payloads/2"),
        ("parked/payloads/2", "parked/payloads/2"),
        ("payloads/3", None),
        ("parked/payloads/1", None),
    ],
)
def test_a_payload_is_looked_for_where_it_landed_then_beside_what_is_parked(
    kept: StoredPayloads, key: str, found: str | None
) -> None:
    reference = kept.located(PayloadReference(key=key, sha256="0" * 64))

    assert (reference and reference.key) == found


@pytest.mark.parametrize("key", ["payloads/1", "payloads/2", "parked/payloads/2"])
def test_a_body_is_fetched_from_wherever_it_is(kept: StoredPayloads, key: str) -> None:
    assert kept.body_of(by_reference(key=key)) == BODY


def test_a_body_by_value_needs_no_bucket(kept: StoredPayloads) -> None:
    assert kept.body_of(message_of()) == b"\x01\x02"


def test_for_a_body_by_value_no_bucket_is_opened() -> None:
    opened = list[str]()

    kept = StoredPayloads(
        landed=lambda: opened.append("landed"),  # type: ignore[arg-type,return-value]
        parked=lambda: opened.append("parked"),  # type: ignore[arg-type,return-value]
    )

    assert (kept.body_of(message_of()), opened) == (b"\x01\x02", [])


def test_a_body_that_is_gone_is_missing(kept: StoredPayloads) -> None:
    with pytest.raises(PayloadMissingError):
        kept.body_of(by_reference(key="payloads/3"))


def test_an_exported_record_holds_its_body(kept: StoredPayloads) -> None:
    record = FakeStore().park(by_reference(key="parked/payloads/2"))

    exported = kept.self_contained(record)

    message = message_from(raw_headers(exported.headers), exported.value)
    assert (message.body, message.reference, message.body_bytes) == (BODY, None, len(BODY))


def test_what_is_exported_can_be_tried(kept: StoredPayloads) -> None:
    record = FakeStore().park(by_reference(key="parked/payloads/2"))

    line = record_json(kept.self_contained(record))

    assert recorded_trial(record_from_json(line)).body == BODY


def test_a_record_that_is_no_message_is_exported_as_it_is(kept: StoredPayloads) -> None:
    record = FakeStore().write("parked", value=b"?", headers=[("ce_parkedreason", b"bad_envelope")])

    assert kept.self_contained(record) is record
