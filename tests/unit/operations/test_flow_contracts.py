"""Contracts of flows, by the standards' own schemas and by what the platform writes."""

import json
from importlib import resources
from typing import Any, Final

import jsonschema_rs
import open_data_contract_standard
import pytest

from fleetlane.events.canonical import EventTime, TimeQuality, event_data, message_prefix
from fleetlane.events.flows.files import flow_from_toml, flows_in
from fleetlane.events.flows.flow import Flow
from local.checkout import FLOWS, ROOT
from operations.flows.contracts import asyncapi, data_contract
from tests.canonical_value import canonical_value
from tests.unit.events.messages import FULL, RAW_ID

ASYNCAPI: Final = json.loads((ROOT / "tests" / "standards" / "asyncapi-3.0.0.json").read_text())
ODCS: Final = json.loads(
    resources.files(open_data_contract_standard).joinpath("schema.json").read_text()
)
FLOWS_OF_DEMO: Final = flows_in(FLOWS)
EVERYTHING: Final = """
stream = "thermo"
owner = "acme-sensors"
lane = "fast"

[[parsers]]
use = "json"

[canonical]
key = "device"

[[canonical.redirects]]
when = "alarm"
equals = true
to = "alarms"

[dedupe]
window_s = 600
"""
AT = 1_793_714_709_123


def declaring(schema: dict[str, object]) -> Flow:
    return flow_from_toml(EVERYTHING, file="thermo.toml").__replace__(schema=schema)


def properties_of(contract: dict[str, Any]) -> dict[str, Any]:
    return {one["name"]: one for one in contract["schema"][0]["properties"]}


@pytest.mark.parametrize("stream", FLOWS_OF_DEMO)
def test_asyncapis_own_schema_takes_the_document_of_each_flow_of_the_demo(stream: str) -> None:
    document = asyncapi(FLOWS_OF_DEMO[stream], version="1")

    assert list(jsonschema_rs.validator_for(ASYNCAPI).iter_errors(document)) == []


@pytest.mark.parametrize("stream", FLOWS_OF_DEMO)
def test_odcs_own_schema_takes_the_document_of_each_flow_of_the_demo(stream: str) -> None:
    document = data_contract(FLOWS_OF_DEMO[stream], version="1")

    assert list(jsonschema_rs.validator_for(ODCS).iter_errors(document)) == []


def test_an_event_as_the_platform_writes_it_is_what_the_document_says() -> None:
    flow = declaring({"type": "object", "properties": {"celsius": {"type": "number"}}})
    schemas = asyncapi(flow, version="1")["components"]["schemas"]
    payload = {"$ref": "#/components/schemas/CanonicalEvent", "components": {"schemas": schemas}}
    prefix = message_prefix(FULL, parser="json@1")

    def is_valid(data: dict[str, object], time: EventTime) -> bool:
        written = canonical_value(prefix, event_id=f"{RAW_ID}-0", time=time, data=event_data(data))
        return jsonschema_rs.validator_for(payload).is_valid(json.loads(written))

    assert is_valid({"celsius": 21.5}, EventTime(AT, TimeQuality.OK, AT))
    assert is_valid({}, EventTime(None, TimeQuality.MISSING, AT))
    assert not is_valid({"celsius": "warm"}, EventTime(AT, TimeQuality.OK, AT))


def test_each_topic_that_a_flows_events_go_to_is_a_channel() -> None:
    channels = asyncapi(declaring({}), version="1")["channels"]

    assert {one["address"] for one in channels.values()} == {
        "canonical.thermo",
        "unique.thermo",
        "canonical.alarms",
    }


def test_readers_are_told_the_key_the_owner_and_the_version() -> None:
    document = asyncapi(declaring({}), version="abc")

    key = document["components"]["messages"]["thermo"]["bindings"]["kafka"]["key"]
    assert key == {"type": "string", "description": "The device."}
    assert document["info"]["contact"] == {"name": "acme-sensors"}
    assert document["info"]["version"] == "abc"


def test_a_contracts_columns_have_odcs_own_types() -> None:
    flow = declaring(
        {
            "type": "object",
            "required": ["at"],
            "properties": {
                "at": {"type": "string", "format": "date-time"},
                "celsius": {"type": ["number", "null"], "minimum": -90, "description": "Air"},
                "readings": {"type": "array", "items": {"type": "integer"}},
            },
        }
    )

    columns = properties_of(data_contract(flow, version="1"))

    assert columns["id"]["primaryKey"] is True
    assert columns["data"]["properties"] == [
        {"name": "at", "logicalType": "timestamp", "physicalType": "string", "required": True},
        {
            "name": "celsius",
            "logicalType": "number",
            "physicalType": "number",
            "description": "Air",
            "logicalTypeOptions": {"minimum": -90},
            "required": False,
        },
        {
            "name": "readings",
            "logicalType": "array",
            "physicalType": "array",
            "items": {"logicalType": "integer", "physicalType": "integer"},
            "required": False,
        },
    ]


def test_a_contract_says_for_how_many_days_each_topic_keeps_what_it_has() -> None:
    kept = data_contract(declaring({}), version="1")["slaProperties"]

    assert {one["element"]: (one["value"], one["unit"]) for one in kept} == {
        "raw.fast": (3, "d"),
        "canonical.thermo": (7, "d"),
        "unique.thermo": (7, "d"),
        "canonical.alarms": (7, "d"),
    }
