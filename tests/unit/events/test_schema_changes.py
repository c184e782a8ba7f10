"""What may change about a schema, and what would break who reads the events."""

from copy import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetlane.events.lake.views import breaking_changes, broken_by
from tests.unit.events.flow_texts import SMALLEST, read
from tests.unit.events.schema_texts import schema

NUMBER, TEXT, WHOLE = {"type": "number"}, {"type": "string"}, {"type": "integer"}
TIME = TEXT | {"format": "date-time"}
MAYBE = {"type": ["number", "null"]}

FINE = {
    "nothing": (schema({"a": NUMBER}), schema({"a": NUMBER})),
    "a property more": (schema({"a": NUMBER}), schema({"a": NUMBER, "b": TEXT})),
    "a required property more": (schema({"a": NUMBER}), schema({"a": NUMBER, "b": TEXT}, "b")),
    "a property more inside": (
        schema({"a": schema({"b": TEXT})}),
        schema({"a": schema({"b": TEXT, "c": TEXT})}),
    ),
    "optional made required": (schema({"a": NUMBER}), schema({"a": NUMBER}, "a")),
    "null no more": (schema({"a": MAYBE}), schema({"a": NUMBER})),
    "another description": (schema({"a": NUMBER}), schema({"a": NUMBER | {"maximum": 3}})),
    "another format that is no time": (
        schema({"a": TEXT}),
        schema({"a": TEXT | {"format": "uuid"}}),
    ),
    "a type in a list": (schema({"a": NUMBER}), schema({"a": {"type": ["number"]}})),
}

BREAKS = {
    "removed": (schema({"a": NUMBER, "b": TEXT}), schema({"b": TEXT}), "`a` was removed; keep it"),
    "removed inside": (
        schema({"a": schema({"b": TEXT, "c": TEXT})}),
        schema({"a": schema({"c": TEXT})}),
        "`a.b` was removed; keep it",
    ),
    "removed with what lies in it": (
        schema({"a": schema({"b": TEXT}), "c": TEXT}),
        schema({"c": TEXT}),
        "`a` was removed; keep it",
    ),
    "renamed": (schema({"a": TEXT}), schema({"A": TEXT}), "`a` was removed; keep it"),
    "another type": (
        schema({"a": NUMBER}),
        schema({"a": TEXT}),
        "`a` was number and is string; keep number",
    ),
    "a wider type": (
        schema({"a": WHOLE}),
        schema({"a": NUMBER}),
        "`a` was integer and is number; keep integer",
    ),
    "a narrower type": (
        schema({"a": NUMBER}),
        schema({"a": WHOLE}),
        "`a` was number and is integer; keep number",
    ),
    "one type more": (
        schema({"a": NUMBER}),
        schema({"a": {"type": ["string", "number"]}}),
        "`a` was number and is number or string; keep number",
    ),
    "any type": (
        schema({"a": NUMBER}),
        schema({"a": {}}),
        "`a` was number and is anything; keep number",
    ),
    "no time any more": (
        schema({"a": TIME}),
        schema({"a": TEXT}),
        "`a` was string (date-time) and is string; keep string (date-time)",
    ),
    "another type of items": (
        schema({"a": {"type": "array", "items": NUMBER}}),
        schema({"a": {"type": "array", "items": TEXT}}),
        "`a[]` was number and is string; keep number",
    ),
    "null": (
        schema({"a": NUMBER}),
        schema({"a": MAYBE}),
        "`a` was never null and may be; keep its `type`",
    ),
    "required made optional": (
        schema({"a": NUMBER}, "a"),
        schema({"a": NUMBER}),
        "`a` was required and is optional; keep it in `required`",
    ),
    "a column that another property takes": (
        schema({"a": schema({"b": TEXT})}),
        schema({"a": schema({"b": TEXT}), "a_b": TEXT}),
        "`a.b` was column `a_b` in the lake and would be column `a_b_2`; "
        "name what is new otherwise",
    ),
    "a column that falls apart": (
        schema({"a": {"type": "object"}}),
        schema({"a": schema({"b": TEXT})}),
        "`a` was column `a` in the lake and would be no column; name what is new otherwise",
    ),
}


@pytest.mark.parametrize(("before", "after"), FINE.values(), ids=FINE)
def test_what_breaks_nobody_is_allowed(before: dict[str, object], after: dict[str, object]) -> None:
    assert list(broken_by(before, after)) == []


@pytest.mark.parametrize(("before", "after", "told"), BREAKS.values(), ids=BREAKS)
def test_what_breaks_a_reader_is_reported(
    before: dict[str, object], after: dict[str, object], told: str
) -> None:
    assert list(broken_by(before, after)) == [f"property {told}"]


def test_a_schema_is_not_taken_away() -> None:
    assert list(broken_by(schema({"a": NUMBER}), None)) == ["it was removed"]


def test_only_flows_that_had_a_schema_can_break_it() -> None:
    thermo = read(SMALLEST)
    described = replace(thermo, schema=schema({"a": NUMBER}))

    assert list(breaking_changes([], [described])) == []
    assert list(breaking_changes([thermo], [described])) == []
    assert list(breaking_changes([described], [])) == []
    assert list(breaking_changes([described], [thermo])) == [
        ("thermo", "schema: it was removed; a stream of another name may differ")
    ]


kinds = st.sampled_from([NUMBER, TEXT, TIME, WHOLE, MAYBE, {}])
described = st.dictionaries(st.sampled_from(["a", "b", "a_b", "A", "id", "1"]), kinds, min_size=1)
nested = st.dictionaries(
    st.sampled_from(["a", "b", "c"]), kinds | described.map(schema), min_size=1
)


@given(nested)
def test_a_schema_may_stay_as_it_is(properties: dict[str, object]) -> None:
    assert list(broken_by(schema(properties), schema(properties))) == []
