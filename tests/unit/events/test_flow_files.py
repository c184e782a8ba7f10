import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetlane.events.flow_files import BadFlowError, flow_from_toml, flows_in, topics_of
from fleetlane.events.flows import (
    CanonicalRule,
    EventTimeRule,
    Flow,
    FlowLimits,
    IdentityRule,
    ParserRule,
    TimeUnit,
)
from fleetlane.events.keys import CanonicalKey
from fleetlane.events.lanes import Lane
from fleetlane.events.topics import RawStrategy, platform_topics
from tests.unit.events.json_values import json_values, texts

SMALLEST = """
stream = "thermo"
owner = "acme-sensors"
[[parsers]]
use = "json"
"""

DESIGNS = """
stream = "thermo"
owner = "acme-sensors"
[event_time]
field = "measured_at"
unit = "s"
[[parsers]]
use = "acme-thermo==1.2.0"
firmware = ">=2"
options = { celsius_per_count = 0.02 }
"""

FLOW_FIELDS = (
    "stream, owner, parsers, event_time, lane, topic, oversize, dedupe_by_content, identity, "
    "canonical, limits"
)
NAME = r"text matching ^[a-z][a-z0-9-]{0,47}\Z"


def read(text: str) -> Flow:
    return flow_from_toml(text, file="flows/thermo.toml")


def refusal_of(text: str) -> str:
    with pytest.raises(BadFlowError) as refused:
        read(text)
    return str(refused.value)


def test_the_designs_example_loads() -> None:
    assert read(DESIGNS) == Flow(
        stream="thermo",
        owner="acme-sensors",
        event_time=EventTimeRule(field="measured_at", unit=TimeUnit.SECONDS),
        parsers=(
            ParserRule(
                use="acme-thermo==1.2.0", firmware=">=2", options={"celsius_per_count": 0.02}
            ),
        ),
    )


def test_everything_but_the_first_four_lines_has_a_default() -> None:
    flow = read(SMALLEST)

    assert (flow.event_time, flow.lane, flow.topic) == (None, Lane.STANDARD, RawStrategy.LANE)
    assert (flow.oversize, flow.dedupe_by_content) == ("slow", False)
    assert flow.identity == IdentityRule(by="message", fields=())
    assert flow.canonical == CanonicalRule(key=CanonicalKey.DEVICE_HOUR, redirects=())
    assert flow.limits == FlowLimits(parse_ms_max=None, events_max=100_000, event_bytes_max=900_000)


def test_an_events_time_is_in_the_future_after_an_hour_and_ancient_after_400_days() -> None:
    rule = read(DESIGNS).event_time

    assert rule is not None
    assert (rule.future_after_s, rule.ancient_after_s) == (3_600, 34_560_000)


UNKNOWN_OR_MISSING = {
    "no stream": ("", f"missing required field `stream`; allowed: {FLOW_FIELDS}"),
    "no parsers": (
        'stream = "t"\nowner = "o"',
        f"missing required field `parsers`; allowed: {FLOW_FIELDS}",
    ),
    "an unknown field": (
        "speed = 1\n" + SMALLEST,
        f"unknown field `speed`; allowed: {FLOW_FIELDS}",
    ),
    "an unknown table": (
        SMALLEST + "[evnet_time]\nfield = 'x'",
        f"unknown field `evnet_time`; allowed: {FLOW_FIELDS}",
    ),
    "an unknown field of a parser": (
        SMALLEST + "version = 1",
        "unknown field `parsers.0.version`; allowed: use, firmware, device_types, options",
    ),
    "no unit": (
        SMALLEST + "[event_time]\nfield = 'x'",
        "missing required field `event_time.unit`; "
        "allowed: field, unit, future_after_s, ancient_after_s",
    ),
}


@pytest.mark.parametrize(("text", "problem"), UNKNOWN_OR_MISSING.values(), ids=UNKNOWN_OR_MISSING)
def test_an_unknown_or_missing_field_is_named_with_those_allowed(text: str, problem: str) -> None:
    assert refusal_of(text) == f"flows/thermo.toml: {problem}"


NOT_ALLOWED = {
    "a lane": ('lane = "quick"', "lane", "'quick'", "fast, standard, slow"),
    "a lane of another type": ("lane = 1", "lane", "1", "fast, standard, slow"),
    "a topic": ('topic = "own"', "topic", "'own'", "lane, stream, device_type"),
    "oversize": ('oversize = "drop"', "oversize", "'drop'", "slow, truncate"),
    "a yes": ('dedupe_by_content = "yes"', "dedupe_by_content", "'yes'", "expected `bool`"),
    "a unit": (
        'event_time = { field = "t", unit = "us" }',
        "event_time.unit",
        "'us'",
        "ms, s, rfc3339",
    ),
    "an empty field": (
        'event_time = { field = "", unit = "s" }',
        "event_time.field",
        "''",
        "length >= 1",
    ),
    "no seconds": (
        'event_time = { field = "t", unit = "s", future_after_s = 0 }',
        "event_time.future_after_s",
        "0",
        "1 to 4000000000",
    ),
    "an identity": (
        'identity = { by = "luck" }',
        "identity.by",
        "'luck'",
        "content, fields, message",
    ),
    "by fields without fields": (
        'identity = { by = "fields" }',
        "identity",
        "{'by': 'fields'}",
        '`fields` and `by = "fields"` go together',
    ),
    "fields without by fields": (
        'identity = { fields = ["a"] }',
        "identity",
        "{'fields': ['a']}",
        '`fields` and `by = "fields"` go together',
    ),
    "a key": (
        'canonical = { key = "random" }',
        "canonical.key",
        "'random'",
        "device_hour, device, event_millis",
    ),
    "no table": ("canonical = 1", "canonical", "1", "key, redirects"),
    "a redirect's target": (
        'canonical = { redirects = [{ when = "a", equals = 1, to = "B" }] }',
        "canonical.redirects.0.to",
        "'B'",
        NAME,
    ),
    "a redirect's value": (
        'canonical = { redirects = [{ when = "a", equals = 1.5, to = "b" }] }',
        "canonical.redirects.0.equals",
        "1.5",
        "expected `bool | int | str`",
    ),
    "a limit too high": (
        "limits = { parse_ms_max = 60001 }",
        "limits.parse_ms_max",
        "60001",
        "1 to 60000",
    ),
    "a limit of zero": ("limits = { events_max = 0 }", "limits.events_max", "0", "1 to 100000"),
    "a limit that is true": (
        "limits = { event_bytes_max = true }",
        "limits.event_bytes_max",
        "True",
        "1 to 900000",
    ),
}


@pytest.mark.parametrize(
    ("line", "field", "value", "allowed"), NOT_ALLOWED.values(), ids=NOT_ALLOWED
)
def test_a_refusal_names_file_field_value_and_what_is_allowed(
    line: str, field: str, value: str, allowed: str
) -> None:
    refusal = refusal_of(f"{line}\n{SMALLEST}")

    assert refusal.startswith(f"flows/thermo.toml: field `{field}` is {value}: ")
    assert allowed in refusal


NOT_ALLOWED_OF_A_PARSER = {
    "use": ('use = "Json"', "use", "'Json'", r"allowed: text matching ^[a-z][a-z0-9-]{0,47}(=="),
    "use with a range": ('use = "json>=1"', "use", "'json>=1'", "allowed: text matching"),
    "use with a line's end": ('use = "json\\n"', "use", r"'json\n'", "allowed: text matching"),
    "firmware": ('use = "json"\nfirmware = 2', "firmware", "2", "expected `str | null`"),
    "device types": (
        'use = "json"\ndevice_types = []',
        "device_types",
        "[]",
        "length >= 1",
    ),
    "a device type": (
        'use = "json"\ndevice_types = ["t1", "T2"]',
        "device_types.1",
        "'T2'",
        NAME,
    ),
    "options": ('use = "json"\noptions = 1', "options", "1", "expected `object`"),
}


@pytest.mark.parametrize(
    ("lines", "field", "value", "allowed"),
    NOT_ALLOWED_OF_A_PARSER.values(),
    ids=NOT_ALLOWED_OF_A_PARSER,
)
def test_a_refusal_names_a_parser_by_its_place(
    lines: str, field: str, value: str, allowed: str
) -> None:
    refusal = refusal_of(f"{SMALLEST}\n[[parsers]]\n{lines}")

    assert refusal.startswith(f"flows/thermo.toml: field `parsers.1.{field}` is {value}: ")
    assert allowed in refusal


@pytest.mark.parametrize("stream", ["", "Thermo", "a b", "a" * 49, r"thermo\n"])
def test_a_stream_that_is_no_name_is_refused(stream: str) -> None:
    refusal = refusal_of(SMALLEST.replace('"thermo"', f'"{stream}"'))

    assert refusal.endswith(f"; allowed: {NAME}")


@pytest.mark.parametrize("firmware", ["new", "2", ">=", ">= 2 and < 3"])
def test_a_firmware_that_is_no_range_is_refused(firmware: str) -> None:
    refusal = refusal_of(f'{SMALLEST}firmware = "{firmware}"')

    assert f"`firmware` '{firmware}' is no range like >=2,<3 (PEP 440)" in refusal


@pytest.mark.parametrize("value", ["inf", "nan", "2026-11-03", "12:00:00", "2026-11-03T14:05:09Z"])
def test_options_that_publishing_would_change_are_refused(value: str) -> None:
    refusal = refusal_of(f"{SMALLEST}options = {{ limit = [{value}] }}")

    assert "`options` hold what JSON does not" in refusal


def test_identity_by_content_needs_an_event_time() -> None:
    refusal = refusal_of('identity = { by = "content" }' + SMALLEST)

    assert 'identity by = "content" needs [event_time]' in refusal


def test_a_flow_needs_a_parser() -> None:
    refusal = refusal_of('stream = "t"\nowner = "o"\nparsers = []')

    assert refusal == "flows/thermo.toml: field `parsers` is []: expected `array` of length >= 1"


def test_a_long_value_is_shown_cut_off() -> None:
    refusal = refusal_of("identity = [" + "1, " * 1000 + "]" + SMALLEST)

    assert len(refusal) < 300


NO_TOML = {
    "half a line": "stream =",
    "a repeated key": "a = 1\na = 2",
    "a zero": "a = 1\0",
    "no such day": "a = 2026-02-30",
    "a number of 5,000 digits": "a = " + "1" * 5000,
    "50,000 lists": "a = " + "[" * 50_000 + "]" * 50_000,
}


@pytest.mark.parametrize("text", NO_TOML.values(), ids=NO_TOML)
def test_what_is_no_toml_is_told_so(text: str) -> None:
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


def test_a_folder_of_flows_is_read_by_stream(tmp_path: Path) -> None:
    (tmp_path / "thermo.toml").write_text(SMALLEST)
    (tmp_path / "hum.toml").write_text(SMALLEST.replace('"thermo"', '"hum"'))
    (tmp_path / "README.md").write_text("not a flow")

    flows = flows_in(tmp_path)

    assert {stream: flow.stream for stream, flow in flows.items()} == {
        "hum": "hum",
        "thermo": "thermo",
    }


def test_an_empty_folder_has_no_flows(tmp_path: Path) -> None:
    assert flows_in(tmp_path) == {}


def test_a_file_that_is_not_named_for_its_stream_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "termo.toml"
    path.write_text(SMALLEST)

    with pytest.raises(BadFlowError) as refused:
        flows_in(tmp_path)

    assert str(refused.value) == (
        f"{path}: field `stream` is 'thermo'; the file's name allows 'termo'"
    )


def test_a_file_that_is_not_utf_8_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "thermo.toml"
    path.write_bytes(SMALLEST.encode() + b"# 21 \xb0C")

    with pytest.raises(BadFlowError) as refused:
        flows_in(tmp_path)

    assert str(refused.value).startswith(f"{path}: is not UTF-8: ")


def test_without_flows_the_platforms_topics_are_needed() -> None:
    assert topics_of([]) == tuple(sorted(platform_topics()))


@pytest.mark.parametrize(
    ("lines", "own"),
    [
        ("", set()),
        (
            'topic = "stream"',
            {f"raw.{lane}.stream.thermo" for lane in Lane},
        ),
        ('topic = "device_type"', set()),
    ],
    ids=["lane", "stream", "device type"],
)
def test_a_flow_needs_its_canonical_topic_and_its_own_raw_ones(lines: str, own: set[str]) -> None:
    topics = topics_of([read(f"{lines}\n{SMALLEST}")])

    assert set(topics) - set(platform_topics()) == {"canonical.thermo"} | own


def test_a_flow_by_device_type_needs_the_topics_of_the_types_it_names() -> None:
    flow = read(f'topic = "device_type"{SMALLEST}device_types = ["t1", "t2"]')

    topics = {topic for topic in topics_of([flow]) if ".type." in topic}

    assert topics == {f"raw.{lane}.type.{kind}" for lane in Lane for kind in ("t1", "t2")}


def test_a_redirect_needs_its_targets_topic() -> None:
    line = 'canonical = { redirects = [{ when = "kind", equals = "alarm", to = "alarms" }] }'

    topics = topics_of([read(f"{line}\n{SMALLEST}")])

    assert {"canonical.thermo", "canonical.alarms"} <= set(topics)
