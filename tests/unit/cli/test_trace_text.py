"""One message's way on the screen."""

import json
from base64 import b64decode

import pytest

from clients.s3.payload_bucket import PayloadMissingError
from fleetlane.cli.commands.message.why import trace_json, trace_lines
from fleetlane.cli.output.times import EXACT
from fleetlane.events.metadata import Outcome
from operations.messages.trace import MessageTrace, message_trace
from tests.unit.operations.stored_messages import ARRIVAL_MS, RAW_ID, FakeStore, message_of

BODY = bytes(range(48, 128))


@pytest.fixture
def trace() -> MessageTrace:
    """A message that was parked, then replayed, then replayed in a new revision."""
    store = FakeStore()
    first = message_of(device_type="valve", firmware="2.1", content_type="text/\x1b[2J")
    store.land(first)
    store.tell(first, Outcome.PARKED, at_ms=ARRIVAL_MS + 1)
    store.park(first, at_ms=ARRIVAL_MS + 1)
    for revision in (0, 1):
        message = message_of(attempt=2 + revision, revision=revision)
        store.land(message, "raw.slow", at_ms=ARRIVAL_MS + 2 + revision)
        at_ms = ARRIVAL_MS + 4 + revision
        store.tell(message, Outcome.PARSED, at_ms=at_ms, events=1, parser=f"tank@1.{revision}")
        store.emit(message, f"{RAW_ID}-0", parser=f"tank@1.{revision}")
    return message_trace(store, RAW_ID, since_ms=None)


def test_the_way_is_reported_in_order(trace: MessageTrace) -> None:
    lines = list(trace_lines(trace, BODY, None, EXACT))

    assert lines[:2] == [f"message {RAW_ID}", "device  d-17 (valve 2.1)"]
    assert [line[26:] for line in lines if line.startswith("2026-")] == [
        "accepted by the API",
        "landed in raw.standard/0/0, attempt 1",
        "events in canonical.tank",
        "events in canonical.tank, revision 1",
        "parked (malformed) by tank@1.0.0 in the standard lane, attempt 1, 0 µs",
        "parked in parked/0/0: malformed: 5 bytes; a level is 6 bytes",
        "lands again in raw.slow/0/0, attempt 2",
        "lands again in raw.slow/0/1, attempt 3, revision 1",
        "parsed by tank@1.0 in the standard lane, attempt 2, events: 1, 0 µs",
        "parsed by tank@1.1 in the standard lane, attempt 3, revision 1, events: 1, 0 µs",
    ]


def test_it_fits_on_a_screen_and_says_which_revision_counts(trace: MessageTrace) -> None:
    lines = list(trace_lines(trace, BODY, None, EXACT))

    assert len(lines) < 30
    assert "outcome: parsed" in lines
    assert "  1 in canonical.tank by tank@1.0, revision 0, replaced by revision 1" in lines
    assert "  1 in canonical.tank by tank@1.1, revision 1" in lines


def test_the_first_bytes_are_shown_as_hex(trace: MessageTrace) -> None:
    lines = list(trace_lines(trace, BODY, None, EXACT))

    first = "  0000  30 31 32 33 34 35 36 37 38 39 3a 3b 3c 3d 3e 3f  0123456789:;<=>?"
    assert first in lines
    assert lines[-1] == "  … 16 more; --bytes FILE writes them all"


def test_why_there_are_no_bytes_is_reported(trace: MessageTrace) -> None:
    lines = list(trace_lines(trace, None, PayloadMissingError("payloads/1"), EXACT))

    assert lines[-1] == "no bytes: there is no payload payloads/1"


def test_no_control_character_of_a_device_is_shown(trace: MessageTrace) -> None:
    text = "\n".join(trace_lines(trace, b"\x1b\n\xff", None, EXACT))

    assert "\x1b" not in text


def test_as_json_all_of_it_is_there(trace: MessageTrace) -> None:
    found = json.loads(trace_json(trace, BODY))

    assert (found["raw_id"], found["outcome"]) == (RAW_ID, "parsed")
    assert [one["attempt"] for one in found["landings"]] == [1, 2, 3]
    assert [one["outcome"] for one in found["attempts"]] == ["parked", "parsed", "parsed"]
    assert [one["revision"] for one in found["events"]] == [0, 1]
    assert found["parked"][0]["detail"] == "5 bytes; a level is 6 bytes"
    assert b64decode(found["body"]) == BODY
