"""Records on the screen, and as lines for scripts."""

import json
from dataclasses import replace

import pytest

from fleetlane.cli.output.record_text import origin_of, record_line, record_text, value_line
from fleetlane.events.envelope import Record
from fleetlane.events.record_json import record_from_json
from fleetlane.parsers.testkit.samples import NoMessageError, recorded_trial

CANONICAL = Record(
    topic="canonical.thermo",
    partition=1,
    offset=17,
    timestamp_ms=1_793_714_709_123,
    key=b"d-17/2026-11-03T14",
    value=b'{"id":"1ab-0","data":{"celsius":21.5}}',
    headers=(("content-type", b"application/cloudevents+json"),),
)
RAW = replace(CANONICAL, topic="raw.standard", value=b'{"celsius": 21.50, "celsius": 1}')


def test_a_canonical_record_is_laid_out() -> None:
    text = record_text(CANONICAL)

    assert text.splitlines() == [
        "canonical.thermo/1/17  2026-11-03T14:05:09.123Z  key d-17/2026-11-03T14",
        "  content-type: application/cloudevents+json",
        "  {",
        '    "id": "1ab-0",',
        '    "data": {',
        '      "celsius": 21.5',
        "    }",
        "  }",
    ]


def test_a_devices_json_is_shown_as_it_came() -> None:
    text = record_text(RAW)

    assert text.splitlines()[-1] == '  {"celsius": 21.50, "celsius": 1}'


@pytest.mark.parametrize("topic", ["raw.slow", "raw.fast.stream.thermo", "parked"])
def test_bytes_that_are_no_text_are_shown_as_hex(topic: str) -> None:
    text = record_text(replace(RAW, topic=topic, value=b"\x00\xff\x10"))

    assert text.splitlines()[-1] == "  00ff 10"


def test_long_hex_is_cut_and_says_so() -> None:
    text = record_text(replace(RAW, value=b"\xff" * 1000))

    assert text.endswith("ffff … 744 bytes more")


@pytest.mark.parametrize(("value", "shown"), [(None, "(no value)"), (b"", "(empty)")])
def test_no_value_and_an_empty_one_are_distinguished(value: bytes | None, shown: str) -> None:
    text = record_text(replace(RAW, value=value))

    assert text.splitlines()[-1].strip() == shown


@pytest.mark.parametrize(
    "record",
    [
        replace(RAW, value=b"\x1b[2Jgone"),
        replace(RAW, value="\x9b2Jgone".encode()),
        replace(RAW, value=b"one\rtwo"),
        replace(RAW, headers=(("x", b"\x1b[2J"), ("\x1b[2J", b"x"))),
        replace(RAW, key=b"\x1b[2J\n"),
        replace(CANONICAL, value=b'{"data":"\xc2\x9b2J"}'),
        replace(CANONICAL, value=b'"\\u001b[2J"'),
    ],
)
def test_no_control_character_reaches_the_terminal(record: Record) -> None:
    lines = record_text(record).split("\n")

    assert all(line.isprintable() for line in lines)


def test_text_beyond_ascii_is_readable() -> None:
    text = record_text(replace(CANONICAL, value='{"unit":"°C"}'.encode()))

    assert '"unit": "°C"' in text


def test_a_json_line_holds_the_event() -> None:
    line = json.loads(record_line(CANONICAL))

    assert line["json"]["data"] == {"celsius": 21.5}


def test_a_json_line_holds_all_that_surrounds_the_value() -> None:
    line = json.loads(record_line(replace(CANONICAL, value=None)))

    assert line == {
        "topic": "canonical.thermo",
        "partition": 1,
        "offset": 17,
        "timestamp_ms": 1_793_714_709_123,
        "key": "d-17/2026-11-03T14",
        "headers": [["content-type", "application/cloudevents+json"]],
        "value": None,
    }


@pytest.mark.parametrize("value", [b'{"a": 1}', b"\xff\x00" * 500])
def test_a_json_line_holds_a_devices_bytes_whole(value: bytes) -> None:
    line = record_line(replace(RAW, value=value))

    assert record_from_json(line).value == value


@pytest.mark.parametrize("value", [b"{", b"\xff", b"[" * 100_000])
def test_what_should_be_json_and_is_not_is_shown_all_the_same(value: bytes) -> None:
    line = json.loads(record_line(replace(CANONICAL, value=value)))

    assert "json" not in line


PARSED = replace(
    CANONICAL, topic="fleet.parsed", value=b'{"id":"1ab","device_id":"d-17","stream":"thermo"}'
)
EVENT = replace(CANONICAL, value=b'{"source":"/devices/d-17","type":"thermo","data":{}}')
HEADED = replace(RAW, headers=(("ce_source", b"/devices/d-17"), ("ce_type", b"thermo")))


@pytest.mark.parametrize("record", [CANONICAL, RAW, PARSED, replace(RAW, value=None)])
def test_what_is_printed_as_json_of_any_topic_is_read_back_whole(record: Record) -> None:
    read = record_from_json(record_line(record))

    names = ("topic", "partition", "offset", "timestamp_ms", "key", "headers", "value")
    assert {name: getattr(read, name) for name in names} == {
        name: getattr(record, name) for name in names
    }


@pytest.mark.parametrize("record", [EVENT, PARSED, HEADED, replace(HEADED, topic="parked")])
def test_a_record_of_any_topic_says_whose_it_is(record: Record) -> None:
    assert origin_of(record) == ("d-17", "thermo")


def test_a_record_of_nobodys_belongs_to_nobody() -> None:
    assert origin_of(replace(RAW, value=None, headers=())) == ("", "")


def test_a_record_that_is_no_message_is_not_tried() -> None:
    with pytest.raises(NoMessageError, match=r"canonical\.thermo has no device's bytes"):
        recorded_trial(record_from_json(record_line(CANONICAL)))


@pytest.mark.parametrize(("value", "line"), [(b'{"a": 1}', '{"a": 1}'), (b"\xff\x00", "ff00")])
def test_a_value_is_printed_alone(value: bytes, line: str) -> None:
    assert value_line(replace(RAW, value=value)) == line
