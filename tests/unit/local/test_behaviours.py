"""What devices send is what they expect it to be: held against the real flows and parsers."""

from collections.abc import Iterable
from pathlib import Path
from random import Random

import pytest

from clients.devices.registry import DeviceStatus
from fleetlane.events.canonical import TimeQuality, event_data
from fleetlane.events.errors import ParkedReason
from fleetlane.events.flows.event_ids import event_time_of
from fleetlane.events.flows.files import flows_in
from fleetlane.events.flows.flow import Flow
from fleetlane.events.lanes import INLINE_BYTES_MAX, LATE_AFTER_MS, Lane
from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.registry import load_parser
from local.simulator import behaviours
from local.simulator.behaviours import Behaviour, Circumstances
from local.simulator.device import Outgoing
from local.simulator.sendings import UNUSUAL, roles

FLOWS = flows_in(Path(__file__).parents[3] / "flows")
NOW_MS = 1_793_714_709_123

ROLES = {role.name: role for role in roles(100)}
TAKE_AS_LONG_AS_THEY_SHOULD = {"slow-to-parse", "endless-to-parse"}


def circumstances(seed: int = 1) -> Circumstances:
    return Circumstances(random=Random(seed), now_ms=NOW_MS, messages=4)  # noqa: S311 - a test


AT = circumstances()


def events_of(message: Outgoing, flow: Flow) -> int | ParkedReason:
    """How many events the flow's parser gives, each of them JSON; or why the message is parked."""
    rule = flow.parsers[-1]
    parser = load_parser(rule.use, rule.options)
    try:
        return len([event_data(event) for event in parser.parse(message.body)])
    except MalformedMessage:
        return ParkedReason.MALFORMED


def qualities(messages: Iterable[Outgoing]) -> set[TimeQuality]:
    found = set()
    for message in messages:
        flow = FLOWS[message.stream]
        parser = load_parser(flow.parsers[-1].use, flow.parsers[-1].options)
        for event in parser.parse(message.body):
            found.add(event_time_of(event, flow.event_time, arrival_millis=NOW_MS).quality)
    return found


@pytest.mark.parametrize("name", sorted(ROLES.keys() - TAKE_AS_LONG_AS_THEY_SHOULD))
def test_a_role_s_messages_parse_to_what_it_expects(name: str) -> None:
    messages = [
        message
        for message in ROLES[name].behaviour(AT)
        if message.stream in FLOWS and not message.expected.refused_status
    ]

    found = [events_of(message, FLOWS[message.stream]) for message in messages]

    wanted = [message.expected for message in messages]
    assert found == [one.parked if one.events is None else one.events for one in wanted]


def test_a_stream_without_a_flow_has_none() -> None:
    message = next(behaviours.unknown_stream(AT))

    assert (message.stream in FLOWS, message.expected.parked) == (False, ParkedReason.NO_FLOW)


@pytest.mark.parametrize("behaviour", [behaviours.oversize, behaviours.oversize_malformed])
def test_an_oversize_message_is_too_large_for_kafka_and_not_for_lambda(
    behaviour: Behaviour,
) -> None:
    message = next(behaviour(AT))

    assert INLINE_BYTES_MAX < len(message.body) < 2 << 20
    assert message.expected.lane is Lane.BULK


def test_a_wrong_clock_is_years_ahead_or_stands_at_1970() -> None:
    found = qualities(behaviours.wrong_clock(AT))

    assert found == {TimeQuality.FUTURE, TimeQuality.ANCIENT}


def test_a_usual_clock_is_right() -> None:
    found = qualities(
        message for role in roles(40) if role not in UNUSUAL for message in role.behaviour(AT)
    )

    assert found == {TimeQuality.OK}


def test_a_late_backlog_ends_longer_ago_than_is_new() -> None:
    ends = [message.end_millis for message in behaviours.late_backlog(AT)]

    assert all(end is not None and NOW_MS - end > LATE_AFTER_MS for end in ends)


def test_each_keyed_message_has_a_key_of_its_own() -> None:
    keys = [message.idempotency_key for message in behaviours.resends_with_key(AT)]

    assert None not in keys
    assert len(set(keys)) == len(keys)


def test_equal_chance_gives_equal_messages() -> None:
    once, again = (list(behaviours.herd(circumstances(seed=7))) for _ in range(2))

    assert once == again


@pytest.mark.parametrize("devices", [1, 20, 2_000])
def test_a_fleet_has_as_many_roles_as_devices(devices: int) -> None:
    assert len(list(roles(devices))) == devices


def test_twenty_devices_are_enough_for_every_unusual_role() -> None:
    names = {role.name for role in roles(20)}

    assert names >= {role.name for role in UNUSUAL}


def test_most_of_a_large_fleet_behaves_as_it_should() -> None:
    usual = [role for role in roles(2_000) if role not in UNUSUAL]

    assert len(usual) > 1_600


def test_only_the_unregistered_have_no_status() -> None:
    statuses = {role.name: role.status for role in roles(100) if role.status != "active"}

    assert statuses == {
        "quarantined": DeviceStatus.QUARANTINED,
        "revoked": DeviceStatus.REVOKED,
        "unregistered": None,
    }
