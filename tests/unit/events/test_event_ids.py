import hashlib
from collections import UserDict
from collections.abc import Mapping
from copy import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetlane.events.envelope import Message
from fleetlane.events.flows.event_ids import event_ids
from fleetlane.events.flows.flow import IdentityRule
from tests.unit.events.json_values import json_objects
from tests.unit.events.messages import PLAIN, RAW_ID

BY_MESSAGE = IdentityRule()
BY_FIELDS = IdentityRule(by="fields", fields=("at", "channel"))
BY_CONTENT = IdentityRule(by="content")
RULES = [BY_MESSAGE, BY_FIELDS, BY_CONTENT]

type Event = Mapping[str, object]


def ids(*events: Event, rule: IdentityRule, message: Message = PLAIN) -> list[str]:
    id_of = event_ids(message, rule)
    return [id_of(event) for event in events]


def by_hand(*fields: bytes) -> str:
    """``1`` and BLAKE2b-128 of the fields, each after its length in four bytes."""
    told = b"".join(len(field).to_bytes(4, "big") + field for field in fields)
    return "1" + hashlib.blake2b(told, digest_size=16).hexdigest()


def test_by_message_an_id_is_the_raw_id_and_the_ordinal() -> None:
    found = ids({"a": 1}, {"a": 1}, {}, rule=BY_MESSAGE)

    assert found == [f"{RAW_ID}-0", f"{RAW_ID}-1", f"{RAW_ID}-2"]


def test_by_fields_an_id_hashes_device_stream_and_the_named_fields() -> None:
    found = ids({"channel": "x", "at": 5, "noise": 1}, rule=BY_FIELDS)

    assert found == [by_hand(b"d-17", b"thermo", b"5", b'"x"') + "-0"]


def test_by_content_an_id_hashes_device_stream_and_the_whole_event() -> None:
    found = ids({"b": 1, "a": [2]}, rule=BY_CONTENT)

    assert found == [by_hand(b"d-17", b"thermo", b'{"a":[2],"b":1}') + "-0"]


def test_by_fields_the_other_fields_are_ignored() -> None:
    first = ids({"at": 1, "channel": 2, "battery": 99}, rule=BY_FIELDS)
    resent = ids({"battery": 98, "channel": 2, "at": 1, "retry": True}, rule=BY_FIELDS)

    assert first == resent


@pytest.mark.parametrize(
    "other",
    [{"at": 2, "channel": 2}, {"at": 1, "channel": "2"}, {"at": 1}, {"at": 2, "channel": 1}],
)
def test_by_fields_another_value_is_another_id(other: Event) -> None:
    (one,) = ids({"at": 1, "channel": 2}, rule=BY_FIELDS)

    assert ids(other, rule=BY_FIELDS) != [one]


def test_by_fields_an_absent_field_is_as_null() -> None:
    absent = ids({"at": 1}, rule=BY_FIELDS)
    null = ids({"at": 1, "channel": None}, rule=BY_FIELDS)

    assert absent == null


@pytest.mark.parametrize("rule", [BY_FIELDS, BY_CONTENT], ids=["fields", "content"])
def test_equal_events_of_one_message_are_numbered(rule: IdentityRule) -> None:
    one, other = {"at": 1, "channel": 1}, {"at": 2, "channel": 1}

    found = ids(one, other, one, one, rule=rule)

    assert [event_id[34:] for event_id in found] == ["0", "0", "1", "2"]


@pytest.mark.parametrize("rule", [BY_FIELDS, BY_CONTENT], ids=["fields", "content"])
def test_the_same_event_in_another_message_has_the_same_id(rule: IdentityRule) -> None:
    event = {"at": 1, "channel": 1}
    resent = replace(PLAIN, raw_id="1" + "0" * 32, body=b"other bytes")

    assert ids(event, rule=rule) == ids(event, rule=rule, message=resent)


@pytest.mark.parametrize(
    "elsewhere", [replace(PLAIN, device_id="d-18"), replace(PLAIN, stream="other")]
)
@pytest.mark.parametrize("rule", [BY_FIELDS, BY_CONTENT], ids=["fields", "content"])
def test_the_same_event_of_another_device_or_stream_has_another_id(
    rule: IdentityRule, elsewhere: Message
) -> None:
    event = {"at": 1, "channel": 1}

    assert ids(event, rule=rule) != ids(event, rule=rule, message=elsewhere)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.by)
def test_an_event_may_be_any_mapping(rule: IdentityRule) -> None:
    event = {"at": 1, "channel": 1}

    assert ids(UserDict(event), rule=rule) == ids(event, rule=rule)


@given(events=st.lists(json_objects, max_size=6), rule=st.sampled_from(RULES))
def test_equal_bytes_parsed_again_give_equal_ids(events: list[Event], rule: IdentityRule) -> None:
    assert ids(*events, rule=rule) == ids(*events, rule=rule)


@given(events=st.lists(json_objects, max_size=6), rule=st.sampled_from(RULES))
def test_no_two_events_of_a_message_share_an_id(events: list[Event], rule: IdentityRule) -> None:
    assert len(set(ids(*events, rule=rule))) == len(events)


@given(json_objects)
def test_by_content_the_order_of_keys_does_not_matter(event: dict[str, object]) -> None:
    turned = dict(reversed(event.items()))

    assert ids(event, rule=BY_CONTENT) == ids(turned, rule=BY_CONTENT)
