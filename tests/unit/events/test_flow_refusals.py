import pytest

from tests.unit.events.flow_texts import FLOW_FIELDS, SMALLEST, refusal_of

NAME = r"text matching ^[a-z][a-z0-9-]{0,47}\Z"


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
        "unknown field `parsers.0.version`; allowed: use, firmware, device_types, share, options",
    ),
    "an unknown field of the second parser": (
        SMALLEST + '[[parsers]]\nuse = "csv"\nversion = 1',
        "unknown field `parsers.1.version`; allowed: use, firmware, device_types, share, options",
    ),
    "an unknown field of the event time": (
        'event_time = { field = "t", unit = "s", zone = "UTC" }' + SMALLEST,
        "unknown field `event_time.zone`; allowed: field, unit, future_after_s, ancient_after_s",
    ),
    "an unknown field of the canonical table": (
        'canonical = { keys = "device" }' + SMALLEST,
        "unknown field `canonical.keys`; allowed: key, redirects",
    ),
    "an unknown field of a redirect": (
        'canonical = { redirects = [{ when = "a", equals = 1, to = "b", or = 2 }] }' + SMALLEST,
        "unknown field `canonical.redirects.0.or`; allowed: when, equals, to",
    ),
    "an unknown field of the limits": (
        "limits = { event_max = 1 }" + SMALLEST,
        "unknown field `limits.event_max`; allowed: parse_ms_max, events_max, event_bytes_max,"
        " days_max",
    ),
    "an unknown field of the identity": (
        'identity = { by = "message", field = "a" }' + SMALLEST,
        "unknown field `identity.field`; allowed: by, fields",
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
    "a window": ("dedupe = { window_s = 86401 }", "dedupe.window_s", "86401", "60 to 86400"),
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
    "a use that is too long": (
        f'use = "thermo==1{".0" * 71}"',
        "use",
        f"'thermo==1{'.0' * 35}…",
        "expected `str` of length <= 150",
    ),
    "firmware": ('use = "json"\nfirmware = 2', "firmware", "2", "expected `str | null`"),
    "device types": ('use = "json"\ndevice_types = []', "device_types", "[]", "length >= 1"),
    "a device type": ('use = "json"\ndevice_types = ["t1", "T2"]', "device_types.1", "'T2'", NAME),
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


def test_a_firmware_range_that_is_too_long_is_refused() -> None:
    assert "length <= 200" in refusal_of(f'{SMALLEST}firmware = ">=2{",>=2" * 50}"')


def test_more_parsers_than_a_flow_may_have_are_refused() -> None:
    rules = '[[parsers]]\nuse = "json"\n' * 101

    assert "length <= 100" in refusal_of(f'stream = "thermo"\nowner = "acme"\n{rules}')


@pytest.mark.parametrize("value", ["inf", "nan", "2026-11-03", "12:00:00", "2026-11-03T14:05:09Z"])
def test_options_that_publishing_would_change_are_refused(value: str) -> None:
    refusal = refusal_of(f"{SMALLEST}options = {{ limit = [{value}] }}")

    assert "`options` hold what JSON does not" in refusal


@pytest.mark.parametrize("value", ["18446744073709551616", "[" * 300 + "]" * 300])
def test_options_that_no_job_could_hand_to_a_parser_are_refused(value: str) -> None:
    refusal = refusal_of(f"{SMALLEST}options = {{ limit = {value} }}")

    assert "`options` cannot be written as JSON" in refusal


def test_a_flow_has_no_more_redirects_than_a_byte_can_number() -> None:
    redirect = '{ when = "kind", equals = "alarm", to = "alarms" }'
    refusal = refusal_of(f"canonical = {{ redirects = [{', '.join([redirect] * 256)}] }}{SMALLEST}")

    assert "expected `array` of length <= 255" in refusal


def test_identity_is_of_few_fields_as_each_event_is_read_for_all_of_them() -> None:
    refusal = refusal_of(f'identity = {{ by = "fields", fields = {["a"] * 33} }}' + SMALLEST)

    assert "field `identity.fields` is ['a', 'a', " in refusal
    assert "length <= 32" in refusal


def test_identity_by_content_needs_an_event_time() -> None:
    refusal = refusal_of('identity = { by = "content" }' + SMALLEST)

    assert 'identity by = "content" needs [event_time]' in refusal


def test_a_flow_needs_a_parser() -> None:
    refusal = refusal_of('stream = "t"\nowner = "o"\nparsers = []')

    assert refusal == "flows/thermo.toml: field `parsers` is []: expected `array` of length >= 1"


def test_a_long_value_is_shown_cut_off() -> None:
    refusal = refusal_of("identity = [" + "1, " * 1000 + "]" + SMALLEST)

    assert len(refusal) < 300
