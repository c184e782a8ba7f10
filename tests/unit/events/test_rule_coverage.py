"""Two parser rules for one device are refused, and a device of none is named."""

import pytest

from fleetlane.events.flows.files import flow_from_toml
from fleetlane.events.flows.flow import Flow, ParserRule
from fleetlane.events.flows.rule_coverage import gaps, overlaps


def flow(*rules: tuple[str | None, list[str] | None]) -> Flow:
    """A flow with rules of a firmware range and device types each."""
    text = 'stream = "thermo"\nowner = "acme"\n'
    for firmware, kinds in rules:
        text += '[[parsers]]\nuse = "json"\n'
        text += "" if firmware is None else f'firmware = "{firmware}"\n'
        text += "" if kinds is None else f"device_types = {kinds}\n"
    return flow_from_toml(text, file="thermo.toml")


@pytest.mark.parametrize(
    "rules",
    [
        [(">=2", None), (None, None)],
        [("==1.*", None), ("==2.*", None)],
        [(">=2", ["t1"]), (">=2", ["t2"])],
        [(None, ["t1"]), (">=2", None)],
        [(">=2", ["t1"]), ("<2", ["t1"]), (None, None)],
    ],
)
def test_rules_for_different_devices_and_a_rule_for_the_rest_are_all_right(
    rules: list[tuple[str | None, list[str] | None]],
) -> None:
    assert list(overlaps(flow(*rules))) == []


@pytest.mark.parametrize(
    ("rules", "device"),
    [
        ([(">=2", None), ("<=2", None)], "a device with firmware 2,"),
        ([(None, None), (">=2", None)], "a device with firmware 2,"),
        ([(None, None), (None, None)], "a device with firmware 1,"),
        ([(">=2", ["t1", "t2"]), (">=3", ["t2"])], "a device of type t2 with firmware 3,"),
        ([(">=2", None), (">=3", ["t2"])], "a device of type t2 with firmware 3,"),
    ],
)
def test_a_device_that_two_rules_are_for_is_named(
    rules: list[tuple[str | None, list[str] | None]], device: str
) -> None:
    (sentence,) = overlaps(flow(*rules))

    assert sentence.startswith("[[parsers]] 1 (json) and 2 (json) are both for ")
    assert device in sentence


def test_where_a_rule_takes_the_rest_there_is_no_gap() -> None:
    sentences = list(gaps(flow((">=2", None), (None, None))))

    assert sentences == []


def test_a_firmware_between_ranges_is_named() -> None:
    version, none = gaps(flow((">=3", None), ("<2", None)))

    assert version == "a device with firmware 2 fits no [[parsers]]: it is parked"
    assert none.startswith("a device that declares no firmware fits no [[parsers]]")


def test_a_kind_of_device_that_no_rule_is_for_is_named() -> None:
    (sentence,) = gaps(flow((None, ["t1"]), (None, ["t2"])))

    assert sentence == "a device of any type but t1, t2 fits no [[parsers]]: it is parked"


def test_gaps_are_reported_for_each_kind_of_device() -> None:
    sentences = list(gaps(flow((">=2", ["t1"]), ("", None))))

    assert sentences == [
        "a device of type t1 that declares no firmware fits no [[parsers]]: it is parked",
        "a device that declares no firmware fits no [[parsers]]: it is parked",
    ]


def test_a_rule_with_a_share_overlaps_with_none_after_it_and_fills_no_gap() -> None:
    canary = ParserRule(use="json", share=0.1)
    alone, beside = (
        Flow(stream="gps", owner="acme", parsers=parsers)
        for parsers in ((canary,), (canary, ParserRule(use="csv")))
    )

    assert [*overlaps(beside), *gaps(beside)] == []
    assert list(gaps(alone)) == ["a device fits no [[parsers]]: it is parked"]
