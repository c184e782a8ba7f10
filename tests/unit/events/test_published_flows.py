from random import Random

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from fleetlane.events.flows.files import VERSION_CHARS, PublishedFlows
from fleetlane.events.flows.flow import (
    CanonicalRule,
    DedupeRule,
    EventTimeRule,
    Flow,
    FlowLimits,
    IdentityRule,
    ParserRule,
    Redirect,
    TimeUnit,
)
from fleetlane.events.lanes import DECLARED_LANES
from fleetlane.events.topics import CanonicalKey, RawStrategy
from tests.unit.events.json_values import json_objects, texts
from tests.unit.events.messages import names

fields = texts.filter(bool)
seconds = st.integers(1, 4_000_000_000)

parser_rules = st.builds(
    ParserRule,
    use=st.sampled_from(["json", "acme-thermo==1.2.0", "x==1!2.0rc1+local-1"]),
    firmware=st.none() | st.sampled_from(["", ">=2", ">=2,<3.1", "==1.*"]),
    device_types=st.none() | st.lists(names, min_size=1, max_size=2).map(tuple),
    options=json_objects,
)
event_times = st.builds(
    EventTimeRule,
    field=fields,
    unit=st.sampled_from(TimeUnit),
    future_after_s=seconds,
    ancient_after_s=seconds,
)
identities = st.sampled_from([IdentityRule(), IdentityRule(by="content")]) | st.builds(
    IdentityRule, by=st.just("fields"), fields=st.lists(fields, min_size=1, max_size=2).map(tuple)
)
redirects = st.builds(
    Redirect, when=fields, equals=st.booleans() | st.integers(-9, 9) | texts, to=names
)
flows = st.builds(
    Flow,
    stream=names,
    owner=fields,
    parsers=st.lists(parser_rules, min_size=1, max_size=2).map(tuple),
    event_time=event_times,
    lane=st.sampled_from(DECLARED_LANES),
    topic=st.sampled_from(RawStrategy),
    oversize=st.sampled_from(["slow", "truncate"]),
    dedupe_by_content=st.booleans(),
    dedupe=st.none() | st.builds(DedupeRule, window_s=st.integers(60, 86_400)),
    identity=identities,
    canonical=st.builds(
        CanonicalRule,
        key=st.sampled_from(CanonicalKey),
        redirects=st.lists(redirects, max_size=2).map(tuple),
    ),
    limits=st.builds(
        FlowLimits,
        parse_ms_max=st.none() | st.integers(1, 60_000),
        events_max=st.integers(1, 100_000),
        event_bytes_max=st.integers(1, 900_000),
        days_max=st.integers(1, 100),
    ),
)


@given(st.builds(PublishedFlows, version=texts, flows=st.lists(flows, max_size=3).map(tuple)))
def test_published_flows_read_back_equal(published: PublishedFlows) -> None:
    read = msgspec.json.decode(published.to_json(), type=PublishedFlows)

    assert read == published


@given(st.lists(flows, max_size=3, unique_by=lambda flow: flow.stream), st.randoms())
def test_the_same_flows_in_any_order_are_published_byte_for_byte_alike(
    some: list[Flow], random: Random
) -> None:
    shuffled = random.sample(some, len(some))

    assert PublishedFlows.of(shuffled).to_json() == PublishedFlows.of(some).to_json()


def test_flows_that_differ_anywhere_are_another_version() -> None:
    flow = Flow(stream="thermo", owner="acme", parsers=(ParserRule(use="json"),))
    other = msgspec.structs.replace(flow, owner="others")

    versions = {PublishedFlows.of(some).version for some in ([], [flow], [other], [flow, other])}

    assert len(versions) == 4
    assert {len(version) for version in versions} == {VERSION_CHARS}


@given(flows)
def test_reading_a_rules_path_does_not_change_what_is_published(flow: Flow) -> None:
    before = msgspec.json.encode(flow)

    assert flow.event_time is not None
    assert flow.event_time.path == tuple(flow.event_time.field.split("."))

    assert msgspec.json.encode(flow) == before


def test_published_flows_are_found_by_stream() -> None:
    flow = Flow(stream="thermo", owner="acme", parsers=(ParserRule(use="json"),))

    published = PublishedFlows(version="1", flows=(flow,))

    assert published.by_stream == {"thermo": flow}


def test_unknown_fields_beside_the_flows_are_ignored() -> None:
    value = b'{"version":"1","flows":[],"schemas":{"thermo":"s3://x"}}'

    read = msgspec.json.decode(value, type=PublishedFlows)

    assert read == PublishedFlows(version="1", flows=())


FROM_A_NEWER_PLATFORM = b"""{"new": 1, "version": "1", "flows": [{
    "new": 1, "stream": "thermo", "owner": "acme",
    "parsers": [{"use": "json"}, {"new": 1, "use": "csv"}],
    "event_time": {"new": 1, "field": "t", "unit": "s"},
    "identity": {"new": 1, "by": "content"},
    "canonical": {"new": 1, "redirects": [{"new": 1, "when": "a", "equals": 1, "to": "b"}]},
    "limits": {"new": 1, "events_max": 5}
}]}"""


def test_unknown_fields_are_ignored_at_every_level() -> None:
    read = msgspec.json.decode(FROM_A_NEWER_PLATFORM, type=PublishedFlows)

    flow = Flow(
        stream="thermo",
        owner="acme",
        parsers=(ParserRule(use="json"), ParserRule(use="csv")),
        event_time=EventTimeRule(field="t", unit=TimeUnit.SECONDS),
        identity=IdentityRule(by="content"),
        canonical=CanonicalRule(redirects=(Redirect(when="a", equals=1, to="b"),)),
        limits=FlowLimits(events_max=5),
    )
    assert read == PublishedFlows(version="1", flows=(flow,))
