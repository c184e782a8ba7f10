"""A view's SQL as DuckDB runs it, held to plain Python over the same events."""

import json
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import dataset as ds

from fleetlane.events.lake.tables import EVENTS
from fleetlane.events.lake.views import OWN_COLUMNS, LakeView, data_columns
from operations.lake import ViewRows, newest_of
from tests.unit.events.json_values import json_values
from tests.unit.events.schema_texts import schema

DAY = date(2026, 11, 3)
ARRIVAL_MS = 1_793_714_709_123
ARRIVED_AT = datetime(2026, 11, 3, 14, 5, 9, 123_000)  # noqa: DTZ001 - as DuckDB gives UTC
_ARROW = {"string": pa.string(), "bigint": pa.int64(), "int": pa.int32(), "date": pa.date32()}
TEXT, TIME = {"type": "string"}, {"type": "string", "format": "date-time"}


def events(*data: str, stream: str = "gps") -> ds.Dataset:
    """Rows of the lake's table, the first of which came first."""
    rows = [
        {
            "stream": stream, "day": DAY, "id": f"id-{at}", "raw_id": f"raw-{at}",
            "device_id": "d-1", "arrival_ms": ARRIVAL_MS + at, "time_quality": "ok",
            "parser": "json", "revision": 0, "data": one,
        }
        for at, one in enumerate(data)
    ]  # fmt: skip
    schema = pa.schema([(column.name, _ARROW[column.type]) for column in EVENTS.columns])
    return ds.dataset(pa.Table.from_pylist(rows, schema=schema))


def view_with(properties: Mapping[str, object]) -> LakeView:
    return LakeView(stream="gps", own=OWN_COLUMNS, data=data_columns(schema(properties)))


def newest(events: ds.Dataset, view: LakeView, *, since: date = DAY, rows_max: int) -> ViewRows:
    with duckdb.connect() as connection:
        connection.register("stored_events", events)
        return newest_of(connection, view, since=since, rows_max=rows_max)


def seen(properties: Mapping[str, object], *data: str) -> list[dict[str, Any]]:
    """The data's columns, by their names, of each event, the first to come first."""
    view = view_with(properties)
    found = newest(events(*data), view, rows_max=1_000)
    named = [column.name for column in view.columns]
    rows = [dict(zip(named, row, strict=True)) for row in reversed(found)]
    own = {column.name for column in OWN_COLUMNS}
    return [{name: row[name] for name in row if name not in own} for row in rows]


FITS = {
    "an integer": ({"type": "integer"}, "12", 12),
    "a whole number": ({"type": "integer"}, "12.0", 12),
    "a large integer": ({"type": "integer"}, "-9223372036854775808", -(2**63)),
    "an integer beyond 64 bits": ({"type": "integer"}, "9223372036854775808", None),
    "a fraction for an integer": ({"type": "integer"}, "1.5", None),
    "a text for an integer": ({"type": "integer"}, '"12"', None),
    "a yes for an integer": ({"type": "integer"}, "true", None),
    "a number": ({"type": "number"}, "-1.5e3", -1500.0),
    "an integer for a number": ({"type": "number"}, "3", 3.0),
    "a text for a number": ({"type": "number"}, '"1.5"', None),
    "a list for a number": ({"type": "number"}, "[1.5]", None),
    "no": ({"type": "boolean"}, "false", False),
    "a text for a yes": ({"type": "boolean"}, '"true"', None),
    "a one for a yes": ({"type": "boolean"}, "1", None),
    "a text": (TEXT, r'"a \"b\"\n"', 'a "b"\n'),
    "a text that says null": (TEXT, '"null"', "null"),
    "no text": (TEXT, "null", None),
    "a number for a text": (TEXT, "1", None),
    "an object for a text": (TEXT, '{"a": 1}', None),
    "a time in UTC": (TIME, '"2026-11-03T14:05:09.123Z"', ARRIVED_AT),
    "a time elsewhere": (TIME, '"2026-11-03t16:05:09.123+02:00"', ARRIVED_AT),
    "a day for a time": (TIME, '"2026-11-03"', None),
    "a time without a zone": (TIME, '"2026-11-03T14:05:09"', None),
    "no such time": (TIME, '"2026-02-30T14:05:09Z"', None),
    "a number for a time": (TIME, "1793714709", None),
    "a list": ({"type": "array"}, '[1, "a"]', '[1,"a"]'),
    "an object": ({"type": "object"}, '{"a": {}}', '{"a":{}}'),
    "null for a list": ({"type": "array"}, "null", None),
    "anything": ({}, '"a"', '"a"'),
}


@pytest.fixture(scope="module")
def fitted() -> Mapping[str, Any]:
    """What became of each of ``FITS``, all properties of one event."""
    described = {f"p{at:02}": kind for at, (kind, _, _) in enumerate(FITS.values())}
    values = (f'"p{at:02}": {value}' for at, (_, value, _) in enumerate(FITS.values()))
    [row] = seen(described, "{" + ", ".join(values) + "}")
    return dict(zip(FITS, row.values(), strict=True))


@pytest.mark.parametrize("case", FITS)
def test_a_value_is_typed_where_it_fits_and_null_where_not(
    fitted: Mapping[str, Any], case: str
) -> None:
    found, expected = fitted[case], FITS[case][2]

    assert (type(found), found) == (type(expected), expected)


def test_what_lies_inside_is_a_column_and_what_is_missing_is_null() -> None:
    inside = {"fix": schema({"lat": {"type": "number"}})}

    found = seen(inside, '{"fix": {"lat": 1.5}}', '{"fix": 3}', '{"fix": [{"lat": 1.5}]}', "{}")

    assert [row["fix_lat"] for row in found] == [1.5, None, None, None]


@pytest.mark.parametrize("data", ["not json", "", "[1]", '"a"', "null", '{"a": '])
def test_data_that_is_no_object_has_nothing_in_its_columns(data: str) -> None:
    assert seen({"a": TEXT}, data) == [{"a": None}]


def test_an_event_comes_with_what_the_lake_knows_of_it() -> None:
    found = newest(events("{}"), view_with({"a": TEXT}), rows_max=1)

    assert found == [("id-0", "d-1", None, ARRIVED_AT, DAY, "ok", "json", 0, "raw-0", None)]


def test_the_newest_come_first_and_no_more_than_are_asked_for() -> None:
    found = newest(events("{}", "{}", "{}"), view_with({"a": TEXT}), rows_max=2)

    assert [row[0] for row in found] == ["id-2", "id-1"]


def test_other_streams_and_earlier_days_are_left_out() -> None:
    others, later = events("{}", stream="gps-2"), DAY + timedelta(days=1)
    view = view_with({"a": TEXT})

    assert newest(others, view, rows_max=1) == []
    assert newest(events("{}"), view, since=later, rows_max=1) == []


names = st.text(max_size=8).filter(lambda name: name.isprintable() and not set(name) & set('"\\*'))
odd_names = st.sampled_from(["a'b", "$", "#", "[0]", "0", "a.b", "/", "~1", "-", "a b", "$.a"])


@settings(deadline=None, max_examples=15)
@given(st.sets(odd_names | names.filter(bool), max_size=20))
def test_every_property_is_found_whatever_its_name(found: set[str]) -> None:
    described: dict[str, object] = dict.fromkeys(found, TEXT)

    [row] = seen(described, json.dumps({name: name for name in found}))

    columns = {column.path[0]: column.name for column in data_columns(schema(described))}
    assert {name: row[columns[name]] for name in found} == {name: name for name in found}


@settings(deadline=None, max_examples=15)
@given(st.lists(json_values, min_size=1, max_size=40))
def test_no_value_is_an_error_and_each_is_null_or_of_its_type(values: list[object]) -> None:
    described: dict[str, object] = {
        "integer": {"type": "integer"}, "number": {"type": "number"}, "yes": {"type": "boolean"},
        "text": TEXT,
    }  # fmt: skip

    rows = seen(described, *(json.dumps(dict.fromkeys(described, value)) for value in values))

    assert rows == [
        {
            "integer": _integer(value),
            "number": _number(value),
            "text": value if isinstance(value, str) else None,
            "yes": value if isinstance(value, bool) else None,
        }
        for value in values
    ]


@settings(deadline=None, max_examples=15)
@given(st.lists(st.text(max_size=12) | st.datetimes().map(datetime.isoformat), max_size=40))
def test_a_text_that_is_no_time_is_null(texts: list[str]) -> None:
    rows = seen({"time": TIME}, *(json.dumps({"time": one}) for one in texts))

    assert all(row == {"time": None} for row in rows)


def _number(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else None  # type: ignore[arg-type]


def _integer(value: object) -> int | None:
    number = _number(value)
    if number is None or not number.is_integer():
        return None
    exact = int(value)  # type: ignore[call-overload]
    return exact if -(2**63) <= exact < 2**63 else None
