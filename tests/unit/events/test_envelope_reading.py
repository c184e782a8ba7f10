from copy import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetlane.events.envelope import BadEnvelopeError, Header, Message, headers_of
from fleetlane.events.envelope_reading import message_from
from tests.unit.events.messages import FULL, PLAIN, SHA256, texts

REQUIRED = [
    "ce_specversion",
    "ce_id",
    "ce_source",
    "ce_type",
    "ce_arrivalmillis",
    "ce_lane",
    "ce_attempt",
    "ce_bodybytes",
]
KNOWN = [name for name, _ in headers_of(replace(FULL, other_headers=()))]
DIGITS_18 = b"9" * 18

BAD = [
    ("ce_specversion", b""),
    ("ce_specversion", b"0.3"),
    ("ce_id", b""),
    ("ce_id", b"2" + b"a" * 32),
    ("ce_id", b"1" + b"a" * 33),
    ("ce_source", b""),
    ("ce_source", b"d-17"),
    ("ce_source", b"/devices/"),
    ("ce_source", b"/devices/d 17"),
    ("ce_source", b"/devices/a/b"),
    ("ce_source", b"/devices//devices/a"),
    ("ce_source", b"/devices/" + b"a" * 65),
    ("ce_type", b""),
    ("ce_type", b"Thermo"),
    ("ce_type", b"thermo\n"),
    ("ce_arrivalmillis", b""),
    ("ce_arrivalmillis", b"-1"),
    ("ce_arrivalmillis", b"1.0"),
    ("ce_arrivalmillis", b"1e3"),
    ("ce_arrivalmillis", b"1_000"),
    ("ce_arrivalmillis", b" 1"),
    ("ce_arrivalmillis", b"+1"),
    ("ce_arrivalmillis", b"253402300800000"),
    ("ce_arrivalmillis", "٣".encode()),
    ("ce_lane", b""),
    ("ce_lane", b"FAST"),
    ("ce_lane", b"quick"),
    ("ce_attempt", b"-1"),
    ("ce_attempt", b"0"),
    ("ce_attempt", b"-0"),
    ("ce_attempt", b"one"),
    ("ce_slowtries", b"-1"),
    ("ce_bodybytes", b"-1"),
    ("ce_bodybytes", DIGITS_18 + b"9"),
    ("ce_revision", b"-1"),
    ("ce_revision", b"2147483648"),
    ("ce_devicetype", b"T1"),
    ("ce_firmware", b"\xff"),
    ("content-type", b"\xff"),
    ("ce_startmillis", b"now"),
    ("ce_endmillis", b"--1"),
    ("ce_bodyencoding", b"\xc3"),
    ("ce_dataref", b"\xff"),
    ("ce_datasha256", b"0" * 63),
    ("ce_datasha256", b"A" * 64),
    ("ce_truncatedfrom", b"-1"),
    ("ce_via", b"gw/3"),
    ("ce_attributes", b'{"source":1}'),
    ("ce_attributes", b'{"site":"a\\"b"}'),
    ("ce_attributes", b"{}"),
]


def test_a_known_header_is_matched_whatever_its_case() -> None:
    shouted = [(name.upper(), value) for name, value in headers_of(replace(FULL, other_headers=()))]

    assert message_from(shouted, None) == replace(FULL, other_headers=())


@pytest.mark.parametrize("name", REQUIRED)
def test_a_required_header_that_is_missing_is_named(name: str) -> None:
    headers = [header for header in headers_of(PLAIN) if header[0] != name]

    with pytest.raises(BadEnvelopeError) as refused:
        message_from(headers, PLAIN.body)

    assert refused.value.header == name


@pytest.mark.parametrize("name", REQUIRED)
def test_a_required_header_that_is_null_is_named(name: str) -> None:
    headers = [(one, None if one == name else value) for one, value in headers_of(PLAIN)]

    with pytest.raises(BadEnvelopeError) as refused:
        message_from(headers, PLAIN.body)

    assert refused.value.header == name


@pytest.mark.parametrize("name", KNOWN)
def test_a_known_header_that_is_repeated_is_named(name: str) -> None:
    headers = headers_of(FULL)
    again = (name.title(), dict(headers)[name])

    with pytest.raises(BadEnvelopeError) as refused:
        message_from([*headers, again], None)

    assert refused.value.header == name


@pytest.mark.parametrize(("name", "value"), BAD)
def test_a_value_that_is_not_allowed_is_refused_with_its_headers_name(
    name: str, value: bytes
) -> None:
    headers = [header for header in headers_of(FULL) if header[0] != name]

    with pytest.raises(BadEnvelopeError) as refused:
        message_from([*headers, (name, value)], None)

    assert refused.value.header == name


@pytest.mark.parametrize("lone", ["ce_dataref", "ce_datasha256"])
def test_a_references_two_headers_go_together(lone: str) -> None:
    value = SHA256.encode()

    with pytest.raises(BadEnvelopeError, match="go together"):
        message_from([*headers_of(PLAIN), (lone, value)], PLAIN.body)


@pytest.mark.parametrize("name", ["ce_attempt", "ce_bodybytes", "ce_startmillis", "ce_endmillis"])
def test_a_number_may_have_eighteen_digits(name: str) -> None:
    headers = [header for header in headers_of(FULL) if header[0] != name]

    message = message_from([*headers, (name, DIGITS_18)], None)

    assert dict(headers_of(message))[name] == DIGITS_18


@pytest.mark.parametrize("body", [b"", b"\x00\xff"])
def test_a_reference_together_with_a_value_is_refused(body: bytes) -> None:
    with pytest.raises(BadEnvelopeError) as refused:
        message_from(headers_of(FULL), body)

    assert str(refused.value) == (f"header ce_dataref: there is a value too, of {len(body)} bytes")


@pytest.mark.parametrize(
    ("body", "size_bytes"), [(None, 0), (b"", 0), (b"\x00", 1), (b"\x00\xff\x00", 3)]
)
def test_a_value_of_another_size_than_declared_is_refused(
    body: bytes | None, size_bytes: int
) -> None:
    with pytest.raises(BadEnvelopeError) as refused:
        message_from(headers_of(PLAIN), body)

    assert str(refused.value) == f"header ce_bodybytes: is 2; the value has {size_bytes}"


def test_a_null_body_without_a_reference_is_an_empty_body() -> None:
    message = message_from(headers_of(replace(PLAIN, body=b"", body_bytes=0)), None)

    assert message.body == b""


def test_by_reference_there_is_no_body() -> None:
    message = message_from(headers_of(FULL), None)

    assert message.body is None


@pytest.mark.parametrize("given_type", [None, b""])
def test_without_a_content_type_the_body_is_octets(given_type: bytes | None) -> None:
    headers = [header for header in headers_of(PLAIN) if header[0] != "content-type"]

    message = message_from([*headers, ("content-type", given_type)], PLAIN.body)

    assert message.content_type == "application/octet-stream"


def test_the_written_time_is_not_read() -> None:
    headers = [header for header in headers_of(PLAIN) if header[0] != "ce_time"]

    message = message_from([*headers, ("ce_time", b"nonsense")], PLAIN.body)

    assert message == PLAIN


def test_a_refusal_shows_a_long_value_cut_off() -> None:
    headers = [header for header in headers_of(PLAIN) if header[0] != "ce_type"]

    with pytest.raises(BadEnvelopeError) as refused:
        message_from([*headers, ("ce_type", b"x" * 5000)], PLAIN.body)

    assert len(str(refused.value)) < 200


any_name = st.sampled_from(KNOWN) | st.sampled_from(KNOWN).map(str.upper) | texts
any_value = (
    st.none()
    | st.binary(max_size=20)
    | st.sampled_from([value for _, value in headers_of(FULL) if value is not None])
    | st.integers().map(lambda number: str(number).encode())
)
any_headers: st.SearchStrategy[list[Header]] = st.lists(st.tuples(any_name, any_value), max_size=25)


def outcome_of(headers: list[Header], body: bytes | None) -> object:
    try:
        return message_from(headers, body)
    except BadEnvelopeError as refused:
        return refused


@given(headers=any_headers, body=st.none() | st.binary(max_size=5))
def test_any_headers_at_all_give_a_message_or_a_bad_envelope(
    headers: list[Header], body: bytes | None
) -> None:
    assert isinstance(outcome_of(headers, body), Message | BadEnvelopeError)


@given(st.sampled_from(KNOWN), any_value)
def test_one_strange_value_gives_a_message_or_a_refusal_that_names_it(
    name: str, value: bytes | None
) -> None:
    headers = [(one, value if one == name else usual) for one, usual in headers_of(FULL)]

    outcome = outcome_of(headers, None)

    assert isinstance(outcome, Message) or (
        isinstance(outcome, BadEnvelopeError)
        and outcome.header in {name, "ce_dataref"}  # a null digest is named by its reference
    )


@given(headers=any_headers)
def test_whatever_is_read_can_be_written_again(headers: list[Header]) -> None:
    others = [one for one in headers if one[0] not in KNOWN]

    read = outcome_of(headers_of(PLAIN) + others, PLAIN.body)

    assert not isinstance(read, Message) or message_from(headers_of(read), read.body) == read
