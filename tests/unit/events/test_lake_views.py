"""From a schema to the columns of its stream's view."""

from copy import replace

from hypothesis import given
from hypothesis import strategies as st

from fleetlane.events.flows.files import flow_from_toml
from fleetlane.events.lake.views import OWN_COLUMNS, Kind, data_columns, view_of
from tests.unit.events.flow_texts import SMALLEST, read
from tests.unit.events.json_values import json_objects
from tests.unit.events.schema_texts import schema

TEXT = {"type": "string"}


def names(properties: dict[str, object]) -> dict[str, str]:
    return {".".join(one.path): one.name for one in data_columns(schema(properties))}


def test_each_kind_of_property_has_its_kind_of_column() -> None:
    properties = {
        "at": TEXT | {"format": "date-time"},
        "count": {"type": "integer"},
        "either": {"type": ["integer", "number"]},
        "fix": schema({"lat": {"type": ["number", "null"]}}),
        "list": {"type": "array", "items": schema({"a": TEXT})},
        "mixed": {"type": ["string", "number"]},
        "name": TEXT | {"format": "email"},
        "object": {"type": "object"},
        "on": {"type": "boolean"},
        "whatever": {},
    }

    found = {".".join(one.path): one.kind for one in data_columns(schema(properties))}

    assert found == {
        "at": Kind.TIME,
        "count": Kind.INTEGER,
        "either": Kind.NUMBER,
        "fix.lat": Kind.NUMBER,
        "list": Kind.JSON,
        "mixed": Kind.JSON,
        "name": Kind.TEXT,
        "object": Kind.JSON,
        "on": Kind.BOOLEAN,
        "whatever": Kind.JSON,
    }


def test_names_are_safe_and_none_is_taken_twice() -> None:
    found = names({"Speed km/h": TEXT, "2m": TEXT, "a": schema({"b": TEXT}), "a_b": TEXT})

    assert found == {"2m": "data_2m", "Speed km/h": "speed_km_h", "a.b": "a_b_2", "a_b": "a_b"}


def test_what_is_named_as_a_column_of_every_event_says_that_it_is_data() -> None:
    assert names({"id": TEXT, "device_id": TEXT, "data_id": TEXT}) == {
        "id": "data_id_2",
        "device_id": "data_device_id",
        "data_id": "data_id",
    }


def test_only_flows_with_a_schema_have_a_view_named_for_their_stream() -> None:
    described = flow_from_toml(SMALLEST.replace("thermo", "door-alarms"), file="x")
    flows = [read(SMALLEST), replace(described, schema=schema({"a": TEXT}))]

    found = [view and (view.stream, view.name) for view in map(view_of, flows)]

    assert found == [None, ("door-alarms", "stream_door_alarms")]


def test_events_come_with_what_the_lake_knows_of_each() -> None:
    view = view_of(replace(read(SMALLEST), schema=schema({"a": TEXT})))

    assert view is not None
    assert [one.name for one in view.columns] == [*(one.name for one in OWN_COLUMNS), "a"]


properties = st.recursive(
    st.sampled_from([TEXT, {}, {"type": "integer"}]) | json_objects,
    lambda inner: st.dictionaries(st.text(max_size=4), inner, min_size=1, max_size=4).map(schema),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=4), properties, max_size=8))
def test_names_are_always_safe_and_unique(described: dict[str, object]) -> None:
    found = [one.name for one in data_columns(schema(described))]

    assert len({*found, *(one.name for one in OWN_COLUMNS)}) == len(found) + len(OWN_COLUMNS)
    assert all(name.isascii() and name.isidentifier() and name == name.lower() for name in found)
