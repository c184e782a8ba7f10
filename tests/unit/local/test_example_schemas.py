"""The schemas of the repository's own flows, held to what their parsers make of devices' bodies."""

from random import Random

import jsonschema_rs
import pytest

from fleetlane.events.flows.files import flows_in
from fleetlane.parsers.registry import load_parser
from local.checkout import FLOWS
from local.simulator import behaviours
from local.simulator.behaviours import Circumstances

DESCRIBED = {stream: flow for stream, flow in flows_in(FLOWS).items() if flow.schema}
AT = Circumstances(random=Random(1), now_ms=1_793_714_709_123, messages=4)  # noqa: S311 - a test


@pytest.mark.parametrize("stream", DESCRIBED)
def test_what_a_parser_makes_of_its_devices_messages_fits_the_schema(stream: str) -> None:
    flow = DESCRIBED[stream]
    parser = load_parser(flow.parsers[-1].use, flow.parsers[-1].options)
    schema = jsonschema_rs.Draft202012Validator(flow.schema or {}, validate_formats=True)

    events = [
        dict(event)
        for message in behaviours.normal(stream)(AT)
        for event in parser.parse(message.body)
    ]

    assert events
    assert [str(error) for event in events for error in schema.iter_errors(event)] == []


@pytest.mark.parametrize("stream", DESCRIBED)
def test_the_schemas_are_valid_by_json_schemas_own(stream: str) -> None:
    assert jsonschema_rs.meta.is_valid(DESCRIBED[stream].schema or {})


def test_positions_and_weather_are_described() -> None:
    assert sorted(DESCRIBED) == ["gps", "weather"]
