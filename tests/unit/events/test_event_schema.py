"""A flow's schema: what is read of it, and what is refused."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetlane.events.flows.event_schema import DEPTH_MAX, properties_of, schema_problem
from fleetlane.events.flows.files import BadFlowError, PublishedFlows, flows_in
from tests.unit.events.flow_texts import SMALLEST, refusal_of
from tests.unit.events.json_values import json_values
from tests.unit.events.schema_texts import schema

NUMBER = {"type": "number"}


def folder_with(tmp_path: Path, document: str | bytes, named: str = '"s.json"') -> Path:
    data = document.encode() if isinstance(document, str) else document
    (tmp_path / "s.json").write_bytes(data)
    (tmp_path / "thermo.toml").write_text(f"schema = {named}\n{SMALLEST}")
    return tmp_path


def test_a_schema_is_part_of_its_flow_and_of_what_is_published(tmp_path: Path) -> None:
    document = schema({"celsius": NUMBER}, "celsius")

    flow = flows_in(folder_with(tmp_path, json.dumps(document)))["thermo"]

    assert flow.schema == document
    assert json.loads(PublishedFlows.of([flow]).to_json())["flows"][0]["schema"] == document


BAD = {
    "no object": (3, "is no JSON object"),
    "no type": ({}, 'is not for an event; allowed: `type` "object", with `properties`'),
    "no properties": ({"type": "object"}, 'is not for an event; allowed: `type` "object", with'),
    "another draft": (
        schema({"a": NUMBER}) | {"$schema": "http://json-schema.org/draft-07/schema#"},
        "`$schema` is 'http://json-schema.org/draft-07/schema#'; allowed: "
        "https://json-schema.org/draft/2020-12/schema",
    ),
    "a type that is none": (
        schema({"a": {"type": "float"}}),
        "property `a`: `type` is 'float'; allowed: array, boolean, integer, null, number, object, "
        "string, or a list of them",
    ),
    "a type inside": (
        schema({"a": {"type": "object", "properties": {"b": {"type": "int"}}}}),
        "property `a.b`: `type` is 'int'; allowed: array,",
    ),
    "a type of items": (
        schema({"a": {"type": "array", "items": {"type": "int"}}}),
        "property `a.[]`: `type` is 'int'; allowed: array,",
    ),
    "a property that is no schema": (
        schema({"a": "number"}),
        "property `a` is 'number'; allowed: an object with `type`",
    ),
    "properties that are none": (
        schema({"a": {"type": "object", "properties": ["b"]}}),
        "property `a`: `properties` is ['b']; allowed: an object by name",
    ),
    "a requirement": (
        {"type": "object", "properties": {"a": NUMBER}, "required": "a"},
        "`required` is 'a'; allowed: a list of names",
    ),
    "a format": (
        schema({"a": {"type": "string", "format": 1}}),
        "property `a`: `format` is 1; allowed: a name, like date-time",
    ),
    "a reference": (
        schema({"a": {"$ref": "#/$defs/a"}}),
        "property `a`: `$ref` is '#/$defs/a'; allowed: what it refers to, written here",
    ),
    "a name": (
        schema({'a"b': NUMBER}),
        "a property is named 'a\"b'; allowed: 1 to 200 printable characters, and none of",
    ),
    "too many": (schema({f"p{at}": NUMBER for at in range(501)}), "has 501 properties; allowed: 5"),
}


@pytest.mark.parametrize(("document", "problem"), BAD.values(), ids=BAD)
def test_a_bad_schema_is_refused_in_a_sentence(document: object, problem: str) -> None:
    assert str(schema_problem(document)).startswith(problem)


def test_what_lies_too_deep_is_refused() -> None:
    document: dict[str, object] = schema({"p": NUMBER})
    for _ in range(8):
        document = schema({"p": document})

    problem = schema_problem(document)

    assert problem == "property `p.p.p.p.p.p.p.p.p`: lies 9 deep; allowed: 8"


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ("{", "is not JSON: Input data was truncated"),
        (b'{"a": "\xff"}', "is not JSON: "),
        ("[" * 30_000, "is not JSON: "),
        ("[" * 65 + "1" + "]" * 65, "is nested 65 deep; allowed: 64"),
        (" " * 32769, "has 32769 bytes; allowed: 32768"),
        ('{"type": "object", "properties": {"a": {"type": 1}}}', "property `a`: `type` is 1; "),
    ],
    ids=["truncated", "encoding", "depth", "nested", "size", "type"],
)
def test_a_refusal_names_the_flow_file_and_the_schemas(
    tmp_path: Path, document: str | bytes, problem: str
) -> None:
    folder = folder_with(tmp_path, document)

    with pytest.raises(BadFlowError) as refused:
        flows_in(folder)

    assert str(refused.value).startswith(f"{folder / 'thermo.toml'}: schema s.json: {problem}")


@pytest.mark.parametrize("named", ['"../s.json"', '"s.toml"', '""', "{ type = 'object' }", "3"])
def test_only_a_file_beside_is_read(tmp_path: Path, named: str) -> None:
    folder = folder_with(tmp_path, "{}", named)

    with pytest.raises(BadFlowError, match="allowed: the name of a file beside the flow file"):
        flows_in(folder)


def test_a_file_that_is_not_there_is_reported(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, "{}", '"other.json"')

    with pytest.raises(BadFlowError, match=r"schema other\.json: cannot be read: No such file"):
        flows_in(folder)


def test_a_flow_that_is_no_file_has_no_schema_beside_it() -> None:
    assert refusal_of('schema = "s.json"' + SMALLEST).endswith("only where the flow is a file")


def test_what_the_properties_are_is_read_from_the_outer_to_the_inner() -> None:
    document = schema(
        {
            "tags": {"type": "array", "items": {"type": "string"}},
            "at": {"type": ["string", "null"], "format": "date-time"},
            "fix": schema({"lat": NUMBER}, "lat"),
            "any": {},
        },
        "at",
    )

    found = [
        (str(one), one.kind, one.is_nullable, one.is_required) for one in properties_of(document)
    ]

    assert found == [
        ("any", "anything", True, False),
        ("at", "string (date-time)", True, True),
        ("fix", "object", False, False),
        ("fix.lat", "number", False, True),
        ("tags", "array", False, False),
        ("tags[]", "string", False, False),
    ]


schema_like = st.recursive(
    json_values,
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["object", "number", ["string", "null"]]) | json_values,
            "properties": st.dictionaries(st.text(max_size=3), inner, max_size=3) | inner,
            "required": st.lists(st.text(max_size=3), max_size=2) | inner,
            "items": inner,
            "format": st.just("date-time") | inner,
        },
    ),
    max_leaves=8,
)


@given(schema_like)
def test_any_json_is_allowed_or_refused_in_one_line(document: object) -> None:
    problem = schema_problem(document)

    assert problem is None or problem.isprintable()


@given(st.dictionaries(st.sampled_from(["type", "properties", "items"]), schema_like))
def test_properties_are_read_of_whatever_was_published(document: dict[str, object]) -> None:
    depths = {len(one.path) for one in properties_of(document)}

    assert depths <= set(range(1, DEPTH_MAX + 1))
