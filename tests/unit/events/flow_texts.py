"""The smallest flow file, for the tests of this folder."""

import pytest

from fleetlane.events.flows.files import BadFlowError, flow_from_toml
from fleetlane.events.flows.flow import Flow

SMALLEST = """
stream = "thermo"
owner = "acme-sensors"
[[parsers]]
use = "json"
"""
FLOW_FIELDS = (
    "stream, owner, parsers, event_time, lane, topic, oversize, on_failure, dedupe_by_content, "
    "attributes, identity, canonical, limits, upload, devices, dedupe, objective, schema"
)


def read(text: str) -> Flow:
    return flow_from_toml(text, file="flows/thermo.toml")


def refusal_of(text: str) -> str:
    with pytest.raises(BadFlowError) as refused:
        read(text)
    return str(refused.value)
