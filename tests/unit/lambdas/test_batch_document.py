"""Which bytes of a CloudEvents JSON batch become a message's body, and what is refused."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetlane.events.errors import FleetlaneError
from lambdas.http.device_request import BadRequestError
from lambdas.ingest.batch_document import BatchTooLongError, Entry, entries_in, entry_from

START = b'[{"specversion":"1.0","id":"e","source":"/devices/d-1","type":"thermo"'


def read(rest: bytes) -> Entry:
    """The only entry of a batch whose required attributes are followed by this."""
    (raw,) = entries_in(START + rest + b"}]")
    return entry_from(raw)


def refusal_of(rest: bytes) -> str:
    with pytest.raises(BadRequestError) as refused:
        read(rest)
    return str(refused.value)


@pytest.mark.parametrize(
    "data", [b"21.50", b'{ "b": 1,  "a": [1e2] }', b'"text"', b"null", b"{}", b'"\\u00e9 \xc3\xa9"']
)
def test_json_data_is_taken_as_it_is_in_the_document(data: bytes) -> None:
    entry = read(b' ,  "data" :  ' + data + b"  ")

    assert (entry.body, entry.content_type) == (data, "application/json")


@pytest.mark.parametrize(
    "content_type", ["text/json", "application/senml+json", "APPLICATION/JSON; charset=utf-8"]
)
def test_any_json_content_type_means_json_data(content_type: str) -> None:
    entry = read(b', "data": "a", "datacontenttype": ' + json.dumps(content_type).encode())

    assert (entry.body, entry.content_type) == (b'"a"', content_type)


def test_text_data_of_another_content_type_is_its_utf_8() -> None:
    entry = read(b', "datacontenttype": "text/csv", "data": "a,\\u00e9\\n1,2"')

    assert (entry.body, entry.content_type) == ("a,é\n1,2".encode(), "text/csv")


@given(st.binary(max_size=500))
def test_data_base64_is_the_bytes_that_it_encodes(body: bytes) -> None:
    entry = read(b', "data_base64": "' + base64.b64encode(body) + b'"')

    assert (entry.body, entry.content_type) == (body, "application/octet-stream")


def test_an_entry_without_data_is_an_empty_message() -> None:
    assert read(b"").body == b""


def test_an_attribute_that_is_null_counts_as_absent() -> None:
    assert read(b', "firmware": null').firmware is None


def test_attributes_that_are_not_known_are_ignored() -> None:
    assert read(b', "time": "2026-11-03T14:05:00Z", "subject": "s", "traceparent": 7').body == b""


@pytest.mark.parametrize(
    ("rest", "problem"),
    [
        (b', "data": 1, "data_base64": ""', "the entry has both data and data_base64"),
        (b', "data_base64": "a"', "data_base64 is not Base64"),
        (b', "data_base64": "aGVsbG8=\\n"', "data_base64 is not Base64"),
        (b', "data_base64": "\\u00e9"', "data_base64 is not Base64"),
        (b', "data_base64": null', "data_base64 is no text"),
        (b', "datacontenttype": "text/csv", "data": [1]', "data is no text, and text/csv is not"),
        (b', "datacontenttype": "text/csv", "data": "\xff"', "data is no text"),
        (b', "datacontenttype": ""', "attribute datacontenttype is ''; allowed: 1 to 256"),
        (b', "specversion": "2.0"', "attribute specversion is '2.0'; allowed: 1.0"),
        (b', "specversion": 1.0', "attribute specversion is no text"),
        (b', "id": ""', "attribute id is ''; allowed: 1 to 256 visible ASCII"),
        (b', "id": null', "the entry has no id"),
        (b', "id": 7', "attribute id is no text"),
        (b', "source": "d-1"', "attribute source is 'd-1'; allowed: /devices/"),
        (b', "source": "/devices/../d-1"', "attribute source is '/devices/../d-1'"),
        (b', "source": "/devices/"', "attribute source is '/devices/'"),
        (b', "type": "Thermo"', "attribute type is 'Thermo'; allowed: [a-z]"),
        (b', "firmware": "1 beta"', "attribute firmware is '1 beta'"),
        (b', "bodyencoding": "br"', "attribute bodyencoding is 'br'; allowed: gzip, deflate"),
        (b', "startmillis": 5', "attribute startmillis is no text"),
        (
            b', "endmillis": "-999999999999999999"',
            "attribute endmillis is '-999999999999999999'; allowed: a whole number from -621355968",
        ),
        (
            b', "startmillis": "253402300800000"',
            "attribute startmillis is '253402300800000'; allowed: a whole number",
        ),
        (b', "endmillis": "soon"', "attribute endmillis is 'soon'; allowed: a whole number"),
        (
            b', "startmillis": "2", "endmillis": "1"',
            "attribute startmillis is '2'; allowed: at most endmillis, 1",
        ),
    ],
)
def test_what_is_not_allowed_is_named(rest: bytes, problem: str) -> None:
    assert refusal_of(rest).startswith(problem)


@pytest.mark.parametrize("document", [b"[1]", b'["text"]', b"[[]]", b"[null]"])
def test_an_entry_that_is_no_object_is_refused_by_itself(document: bytes) -> None:
    (raw,) = entries_in(document)

    with pytest.raises(BadRequestError, match="no JSON object"):
        entry_from(raw)


def test_as_many_entries_as_are_allowed_are_found() -> None:
    assert len(entries_in(b"[" + b"1," * 499 + b"1]")) == 500


def test_one_entry_more_is_too_many() -> None:
    with pytest.raises(BatchTooLongError, match="501 entries; the limit is 500 entries"):
        entries_in(b"[" + b"1," * 500 + b"1]")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)
members = st.sampled_from(
    ["specversion", "id", "source", "type", "data", "data_base64", "datacontenttype", "firmware"]
)
documents = st.lists(st.dictionaries(members, json_values | st.just("1.0")) | json_values)


@given(documents.map(json.dumps).map(str.encode) | st.binary())
def test_any_document_gives_entries_or_refusals(document: bytes) -> None:
    outcomes: list[object] = []
    try:
        outcomes.extend(_entry_or_refusal(raw) for raw in entries_in(document))
    except FleetlaneError as refused:
        outcomes.append(refused)

    assert all(isinstance(one, Entry | BadRequestError | BatchTooLongError) for one in outcomes)


def _entry_or_refusal(raw: object) -> object:
    try:
        return entry_from(raw)  # type: ignore[arg-type]
    except BadRequestError as refused:
        return refused
