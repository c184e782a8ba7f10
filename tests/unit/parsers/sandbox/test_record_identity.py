"""What the worker writes of a record is what one process alone would write, byte for byte."""

import json

import pytest

from fleetlane.events.canonical import event_data, message_prefix
from fleetlane.events.flows.event_ids import event_ids, event_time_of
from fleetlane.events.flows.files import flow_from_toml
from fleetlane.events.topics import canonical_keys
from fleetlane.parsers.sandbox.in_process import InProcess
from fleetlane.parsers.sandbox.runs import Assignment, Program, Run, message_facts_from
from tests.canonical_value import canonical_value
from tests.unit.parsers.sandbox.conftest import no_time_limit

FLOW = """
stream = "gps"
owner = "acme"
[event_time]
field = "at"
unit = "ms"
[identity]
by = "{by}"
{fields}
[canonical]
key = "{key}"
[[parsers]]
use = "ndjson"
"""
EVENTS: list[dict[str, object]] = [
    {"at": 1_762_178_709_123, "n": 1.5e-9, "text": 'ä"\\ }'},
    {"at": 1_762_178_709_123, "n": 1.5e-9, "text": 'ä"\\ }'},
    {"n": -0.0, "deep": [[{}], None]},
    {"at": 32_503_680_000_000, "n": 2**63},
]


@pytest.mark.parametrize("key", ["device_hour", "device", "event_millis"])
@pytest.mark.parametrize("by", ["message", "fields", "content"])
def test_records_are_as_their_flow_has_them(by: str, key: str) -> None:
    fields = 'fields = ["n", "text"]' if by == "fields" else ""
    flow = flow_from_toml(FLOW.format(by=by, fields=fields, key=key), file="gps.toml")
    envelopes = [b"1%032x\nd-%d\n1762178709123\n%d" % (one, one, one) for one in range(3)]
    body = b"\n".join(json.dumps(event).encode() for event in EVENTS)
    run = Run(
        program=Program(use="ndjson", options=b"{}", memory_bytes_max=1 << 28),
        assignment=Assignment(flow=flow, parser='p"@1', parse_s=9.0),
        envelopes=envelopes,
        bodies=[body] * 3,
    )

    (result,) = InProcess().parsed(run, no_time_limit())

    wanted = []
    for envelope in envelopes:
        sender = message_facts_from(envelope, stream="gps")
        id_of = event_ids(sender, flow.identity)
        key_of = canonical_keys(flow.canonical.key, device_id=sender.device_id)
        for event in EVENTS:
            when = event_time_of(event, flow.event_time, arrival_millis=sender.arrival_millis)
            value = canonical_value(
                message_prefix(sender, parser='p"@1'),
                event_id=id_of(event),
                time=when,
                data=event_data(event),
            )
            wanted.append(("canonical.gps", key_of(when.bucket_millis), value))
    assert list(result.records) == wanted
