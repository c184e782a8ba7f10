from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from fleetlane.events.envelope import (
    KafkaPosition,
    Message,
    Parking,
    cut_to_bytes,
    headers_of,
    parked_headers,
    raw_headers,
)
from fleetlane.events.errors import ParkedReason
from tests.unit.events.messages import ARRIVAL_MILLIS, FULL, messages

PARKING = Parking(
    reason=ParkedReason.MALFORMED,
    detail="7 bytes; readings are 6 bytes each",
    position=KafkaPosition(topic="raw.fast", partition=3, offset=42),
    parser="acme-thermo@1.2.0",
    parked_millis=ARRIVAL_MILLIS,
)

parkings = st.builds(
    Parking,
    reason=st.sampled_from(ParkedReason),
    detail=st.text(),
    position=st.just(PARKING.position),
    parser=st.none() | st.just("json@0.1.0"),
    parked_millis=st.just(ARRIVAL_MILLIS),
)


def test_parking_adds_why_where_by_whom_and_when() -> None:
    headers = parked_headers(headers_of(FULL), PARKING)

    assert sorted(headers[len(headers_of(FULL)) :]) == [
        ("ce_parkedat", b"2026-11-03T14:05:09.123Z"),
        ("ce_parkeddetail", b"7 bytes; readings are 6 bytes each"),
        ("ce_parkedfrom", b"raw.fast/3/42"),
        ("ce_parkedparser", b"acme-thermo@1.2.0"),
        ("ce_parkedreason", b"malformed"),
    ]


def test_without_a_parser_no_parser_is_named() -> None:
    headers = dict(parked_headers([], replace(PARKING, parser=None)))

    assert "ce_parkedparser" not in headers


@given(messages(), parkings)
def test_what_was_parked_comes_out_with_the_headers_it_had(
    message: Message, parking: Parking
) -> None:
    original = headers_of(message)

    assert raw_headers(parked_headers(original, parking)) == original


@given(parkings, parkings)
def test_only_the_last_parking_is_reported(first: Parking, second: Parking) -> None:
    original = headers_of(FULL)

    twice = parked_headers(parked_headers(original, first), second)

    assert twice == parked_headers(original, second)


def test_a_detail_of_exactly_one_kibibyte_is_kept_whole() -> None:
    headers = dict(parked_headers([], replace(PARKING, detail="x" * 1024)))

    assert headers["ce_parkeddetail"] == b"x" * 1024


def test_a_longer_detail_is_cut_to_one_kibibyte() -> None:
    headers = dict(parked_headers([], replace(PARKING, detail="x" * 1025)))

    assert headers["ce_parkeddetail"] == b"x" * 1024


def test_a_detail_is_cut_between_characters() -> None:
    detail = "x" * 1022 + "\N{EURO SIGN}"

    headers = dict(parked_headers([], replace(PARKING, detail=detail)))

    assert headers["ce_parkeddetail"] == b"x" * 1022


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(0, 40))
def test_a_cut_keeps_as_many_whole_characters_as_fit(text: str, bytes_max: int) -> None:
    cut = cut_to_bytes(text, bytes_max)

    longer = text[: len(cut.decode()) + 1]
    assert text.startswith(cut.decode())
    assert len(cut) <= bytes_max
    assert longer == cut.decode() or len(longer.encode()) > bytes_max


def test_half_a_surrogate_pair_is_written_as_a_question_mark() -> None:
    assert cut_to_bytes("a\ud800b", 10) == b"a?b"
