"""What the worker writes of a record is what one process alone would write, byte for byte."""

import json

import pytest

from fleetlane.events.canonical import event_data, message_prefix
from fleetlane.events.flows.event_ids import event_ids, event_time_of
from fleetlane.events.flows.files import flow_from_toml
from fleetlane.events.times import MILLIS_MAX, MILLIS_MIN
from fleetlane.events.topics import CanonicalKey, canonical_keys
from fleetlane.parsers.sandbox.canonical_records import CanonicalRecords, Columns
from fleetlane.parsers.sandbox.in_process import InProcess
from fleetlane.parsers.sandbox.record_identity import with_identity
from fleetlane.parsers.sandbox.results import InvalidReplyError
from fleetlane.parsers.sandbox.runs import Assignment, Program, Run, message_facts_from
from tests.canonical_value import canonical_value
from tests.unit.parsers.sandbox.conftest import no_time_limit

FLOW = """
stream = "gps"
owner = "acme"
attributes = ["site"]
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
    envelopes = [
        b"1%032x\nd-%d\n1762178709123\n%d\ntank\n%b\n2.0\n%d" % (one, one, one, known, one)
        for one, known in enumerate((b"", b'{"site":"Ulm"}', b'{"line":"3","site":"Ulm"}'))
    ]
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
                message_prefix(sender, parser='p"@1', attributes=("site",)),
                event_id=id_of(event),
                time=when,
                data=event_data(event),
            )
            wanted.append(("canonical.gps", key_of(when.bucket_millis), value))
    assert list(result.records) == wanted


TAIL = b'"timequality":"ok","data":{}}'


def identified(
    kind: CanonicalKey, keys: list[bytes], tails: list[bytes] | None = None
) -> CanonicalRecords:
    """Records with these keys and tails, all of one message of the device d-1."""
    flow = flow_from_toml(FLOW.format(by="message", fields="", key=kind), file="gps.toml")
    by = Assignment(flow=flow, parser="p@1", parse_s=9.0)
    columns = Columns()
    columns.append_message(bytes(len(keys)), keys, tails or [TAIL] * len(keys))
    envelope = b"1%032x\nd-1\n1762178709123\n0\n\n\n" % 1
    return with_identity(columns.taken(by.topics), [envelope], [len(keys)], by)


def on_days(days: int) -> None:
    """Have a child send one event a day."""
    by = Assignment(flow=FLOW_OF_DAYS, parser="p@1", parse_s=9.0)
    begins = (f'"time":"2026-11-{day:02}T00:00:00.000Z"' for day in range(1, days + 1))
    columns, tails = Columns(), [f'{one},"timequality":"ok","data":{{}}}}' for one in begins]
    keys = [b"d-1"] * days
    columns.append_message(bytes(days), keys, [one.encode() for one in tails])
    envelope = b"1%032x\nd-1\n1762178709123\n0\n\n\n" % 1
    with_identity(columns.taken(by.topics), [envelope], [days], by)


FLOW_OF_DAYS = flow_from_toml(FLOW.format(by="message", fields="", key="device"), file="gps.toml")


def test_events_of_more_days_than_a_flow_allows_are_refused() -> None:
    on_days(FLOW_OF_DAYS.limits.days_max)

    with pytest.raises(InvalidReplyError, match="more days than its flow allows"):
        on_days(FLOW_OF_DAYS.limits.days_max + 1)


@pytest.mark.parametrize("kind", CanonicalKey)
def test_a_record_has_the_key_of_any_time_that_there_is(kind: CanonicalKey) -> None:
    key_of = canonical_keys(kind, device_id="d-1")
    keys = [key_of(MILLIS_MIN), key_of(MILLIS_MAX)]

    records = identified(kind, keys)

    assert [record.key for record in records] == keys


@pytest.mark.parametrize(
    "tails",
    [
        [TAIL + b"\n" + TAIL, b"x}}"],
        [TAIL + b"\n" + TAIL, b""],
        [TAIL, TAIL + b"\n"],
        [b"\n" + TAIL, TAIL],
        [TAIL[:-1], b"}" + TAIL],
        [TAIL, b"x" + TAIL],
    ],
)
def test_a_tail_of_several_lines_hides_no_other(tails: list[bytes]) -> None:
    with pytest.raises(InvalidReplyError, match="begins or ends as none does"):
        identified(CanonicalKey.DEVICE, [b"d-1"] * 2, tails)


@pytest.mark.parametrize("kind", CanonicalKey)
def test_a_key_that_is_longer_than_its_kind_can_be_is_refused(kind: CanonicalKey) -> None:
    longest = canonical_keys(kind, device_id="d-1")(MILLIS_MIN)

    with pytest.raises(InvalidReplyError, match="a key that its message does not have"):
        identified(kind, [longest + b"0"])
