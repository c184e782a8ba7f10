import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetlane.events.flows.files import BadFlowError
from fleetlane.events.flows.flow import Flow
from tests.unit.events.flow_texts import FLOW_FIELDS, SMALLEST, read, refusal_of
from tests.unit.events.json_values import json_values, texts

NO_TOML = {
    "half a line": "stream =",
    "a repeated key": "a = 1\na = 2",
    "a zero": "a = 1\0",
    "no such day": "a = 2026-02-30",
    "a number of 5,000 digits": "a = " + "1" * 5000,
    "50,000 lists": "a = " + "[" * 50_000 + "]" * 50_000,
}


@pytest.mark.parametrize("text", NO_TOML.values(), ids=NO_TOML)
def test_what_is_no_toml_is_reported_so(text: str) -> None:
    assert refusal_of(text).startswith("flows/thermo.toml: is not TOML: ")


@pytest.mark.parametrize(
    "text",
    ['"x - at `$.parsers[9].use" = 1\n' + SMALLEST, SMALLEST + 'firmware = "- at `$.parsers[9]"'],
)
def test_text_that_looks_like_a_place_is_refused_as_any_other(text: str) -> None:
    assert refusal_of(text).startswith("flows/thermo.toml: ")


def toml(value: object) -> str:
    """Write a JSON value as a TOML value; null, which TOML lacks, as an empty string."""
    match value:
        case dict():
            pairs = (f"{toml(str(key))} = {toml(one)}" for key, one in value.items())
            return "{" + ", ".join(pairs) + "}"
        case list():
            return "[" + ", ".join(map(toml, value)) + "]"
        case str():
            return json.dumps(value).replace("\x7f", "\\u007F") if value.isascii() else '"é"'
        case None:
            return '""'
        case _:
            return json.dumps(value)


field_names = st.sampled_from(FLOW_FIELDS.split(", "))
inner_names = st.sampled_from(["use", "options", "by", "fields", "unit", "to", "redirects"]) | texts
tables = st.dictionaries(inner_names, json_values, max_size=4)
documents = st.dictionaries(field_names, json_values | tables | st.lists(tables, max_size=2))


def outcome_of(text: str) -> object:
    try:
        return read(text)
    except BadFlowError as refused:
        return refused


@given(documents)
def test_any_document_gives_a_flow_or_a_refusal(document: dict[str, object]) -> None:
    usual = {"stream": "t", "owner": "o", "parsers": [{"use": "json"}]}
    text = "\n".join(f"{name} = {toml(value)}" for name, value in (usual | document).items())

    outcome = outcome_of(text)

    assert isinstance(outcome, Flow | BadFlowError)


@given(st.text())
def test_any_text_gives_a_flow_or_a_refusal(text: str) -> None:
    assert isinstance(outcome_of(text), Flow | BadFlowError)
