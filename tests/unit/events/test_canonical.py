import json
import math
from collections import OrderedDict, UserDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from types import MappingProxyType

import msgspec
import pytest
from hypothesis import given

from fleetlane.events.canonical import (
    NAME_BYTES_MAX,
    CanonicalEvent,
    EventTime,
    NotJsonError,
    TimeQuality,
    canonical_event_from,
    event_data,
    message_prefix,
)
from fleetlane.events.envelope import Message
from tests.canonical_value import canonical_value
from tests.unit.events.json_values import json_objects
from tests.unit.events.messages import ARRIVAL_MILLIS, FULL, RAW_ID, messages

OK = EventTime(millis=1_000, quality=TimeQuality.OK, bucket_millis=1_000)
MISSING = EventTime(millis=None, quality=TimeQuality.MISSING, bucket_millis=ARRIVAL_MILLIS)


@dataclass
class Reading:
    celsius: float


def nested(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


def test_a_canonical_event_is_these_bytes() -> None:
    prefix = message_prefix(FULL, parser="acme-thermo@1.2.0")

    value = canonical_value(
        prefix, event_id=f"{RAW_ID}-0", time=OK, data=event_data({"celsius": 21.5, "at": "ü"})
    )

    assert (
        value
        == (
            '{"specversion":"1.0","source":"/devices/d-17","type":"thermo",'
            '"datacontenttype":"application/json",'
            f'"rawid":"{RAW_ID}","arrivalmillis":"1793714709123","parser":"acme-thermo@1.2.0",'
            '"revision":3,"devicetype":"acme-t1","firmware":"2.1.0",'
            f'"id":"{RAW_ID}-0","time":"1970-01-01T00:00:01.000Z",'
            '"timequality":"ok","data":{"celsius":21.5,"at":"ü"}}'
        ).encode()
    )


def test_an_event_without_a_time_has_no_time_attribute() -> None:
    prefix = message_prefix(FULL, parser="json@0.1.0")

    value = canonical_value(prefix, event_id="i", time=MISSING, data=b"{}")

    assert "time" not in json.loads(value)


@given(message=messages(), data=json_objects)
def test_a_written_event_reads_back(message: Message, data: dict[str, object]) -> None:
    prefix = message_prefix(message, parser='p"@1')

    event = canonical_event_from(
        canonical_value(prefix, event_id="i", time=OK, data=event_data(data))
    )

    assert event == CanonicalEvent(
        specversion="1.0",
        id="i",
        source=f"/devices/{message.device_id}",
        type=message.stream,
        rawid=message.raw_id,
        arrivalmillis=str(message.arrival_millis),
        parser='p"@1',
        revision=message.revision,
        timequality=TimeQuality.OK,
        data=data,
        time="1970-01-01T00:00:01.000Z",
        devicetype=message.device_type,
        firmware=message.firmware or None,
    )


def test_of_a_device_s_attributes_those_that_are_named_come_along() -> None:
    prefix = message_prefix(FULL, parser="json@0.1.0", attributes=("site", "owner"))

    value = json.loads(canonical_value(prefix, event_id="i", time=OK, data=b"{}"))

    assert (value["site"], "line" in value, "owner" in value) == ("Ulm", False, False)


def test_attributes_of_a_later_version_are_ignored() -> None:
    prefix = message_prefix(FULL, parser="json@0.1.0")
    value = canonical_value(prefix, event_id="i", time=MISSING, data=b"{}")

    event = canonical_event_from(value[:-1] + b',"later":[1]}')

    assert event.id == "i"


@pytest.mark.parametrize("value", [b"", b"{", b"[]", b"{}", b'{"id":1}'])
def test_what_is_no_canonical_event_is_refused(value: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        canonical_event_from(value)


BAD = {
    "NaN": math.nan,
    "infinity": math.inf,
    "minus infinity": -math.inf,
    "NaN in a list": [1.0, None, math.nan],
    "NaN in a tuple": (math.nan,),
    "NaN deep inside": {"a": [{"b": [math.nan]}]},
    "NaN beside null": {"a": None, "b": "null", "c": math.nan},
    "2**64": 2**64,
    "-2**63 - 1": -(2**63) - 1,
    "bytes": b"x",
    "a set": {1},
    "a date and time": datetime(2026, 11, 3, tzinfo=UTC),
    "a decimal": Decimal("1.5"),
    "a dataclass": Reading(celsius=1.0),
    "a complex number": 1j,
    "an object": object(),
    "a number as key": {1: 2},
    "null as key": {None: 2},
    "half a surrogate pair": "\ud800",
    "half a surrogate pair as key": {"\ud800": 1},
    "300 lists": nested(300),
    "100,000 lists": nested(100_000),
}


@pytest.mark.parametrize("value", BAD.values(), ids=BAD)
def test_what_json_does_not_have_is_refused(value: object) -> None:
    with pytest.raises(NotJsonError):
        event_data({"value": value})


def test_a_mapping_that_holds_itself_is_refused() -> None:
    event: dict[str, object] = {}
    event["itself"] = event

    with pytest.raises(NotJsonError):
        event_data(event)


@pytest.mark.parametrize("event", [None, [], [("a", 1)], "a", 1, b"{}"])
def test_what_is_no_mapping_is_refused(event: object) -> None:
    with pytest.raises(NotJsonError, match="not a mapping"):
        event_data(event)  # type: ignore[arg-type]  # a parser may give anything


@pytest.mark.parametrize("kind", [UserDict, OrderedDict, MappingProxyType])
def test_an_event_may_be_any_mapping(kind: Callable[[dict[str, int]], Mapping[str, int]]) -> None:
    assert event_data(kind({"a": 1})) == b'{"a":1}'


@pytest.mark.parametrize(
    "name",
    [one * (NAME_BYTES_MAX // len(one.encode()) + 1) for one in ("x", "ü", '"', '\\":', "\0")],
)
def test_a_key_that_the_lake_could_not_read_is_refused(name: str) -> None:
    size_bytes = len(name.encode())

    with pytest.raises(NotJsonError, match=f"{size_bytes} bytes; the limit is {NAME_BYTES_MAX} "):
        event_data({"list": [{"inner": {name: 1}}]})


def test_a_value_may_be_longer_than_a_key() -> None:
    longest = "x" * NAME_BYTES_MAX

    assert len(event_data({longest: longest * 2})) > 3 * NAME_BYTES_MAX


def test_what_is_not_finite_is_said() -> None:
    with pytest.raises(NotJsonError, match="-inf is not finite"):
        event_data({"a": None, "b": -math.inf})


@pytest.mark.parametrize(
    ("event", "data"),
    [
        ({"a": None}, b'{"a":null}'),
        ({"a": "null"}, b'{"a":"null"}'),
        ({"null": "nullnull"}, b'{"null":"nullnull"}'),
        ({"a": [None, {"b": None}]}, b'{"a":[null,{"b":null}]}'),
        ({"a": 2**64 - 1}, b'{"a":18446744073709551615}'),
        ({"a": -(2**63)}, b'{"a":-9223372036854775808}'),
        ({"a": 0.1}, b'{"a":0.1}'),
        ({"a": (1, 2)}, b'{"a":[1,2]}'),
        ({"": True}, b'{"":true}'),
        ({}, b"{}"),
    ],
)
def test_what_json_has_is_written(event: Mapping[str, object], data: bytes) -> None:
    assert event_data(event) == data


@given(json_objects)
def test_what_is_written_is_json_that_says_the_same(event: dict[str, object]) -> None:
    assert json.loads(event_data(event)) == event
