from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetlane.events.flows.artifacts import parser_rule_for
from fleetlane.events.flows.flow import Flow, ParserRule


def flow_of(*rules: ParserRule) -> Flow:
    return Flow(stream="thermo", owner="acme", parsers=rules)


def used(flow: Flow, *, device_type: str | None = None, firmware: str | None = None) -> str | None:
    rule = parser_rule_for(flow, device_type=device_type, firmware=firmware)
    return None if rule is None else rule.use


DANCE = flow_of(
    ParserRule(use="new", firmware=">=2"),
    ParserRule(use="t1", firmware=">=1,<2", device_types=("t1", "t1-b")),
    ParserRule(use="t2", device_types=("t2",)),
    ParserRule(use="old"),
)


@pytest.mark.parametrize(
    ("device_type", "firmware", "use"),
    [
        ("t1", "2", "new"),
        ("t2", "2.0.1", "new"),
        (None, "v3", "new"),
        ("t1", "10.0", "new"),
        ("t1", "2.1rc1", "new"),
        ("t1", "2+build.7", "new"),
        ("t1", "2.0rc1", "old"),
        ("t1", "1.9.9", "t1"),
        ("t1-b", "1", "t1"),
        ("t1", "0.9", "old"),
        ("t1", None, "old"),
        ("t2", "1.5", "t2"),
        ("t2", None, "t2"),
        ("t2", "acme-7", "t2"),
        ("t3", "1.5", "old"),
        (None, None, "old"),
        (None, "acme-7", "old"),
        ("t1", "", "old"),
    ],
)
def test_the_first_rule_that_fits_the_device_is_used(
    device_type: str | None, firmware: str | None, use: str
) -> None:
    assert used(DANCE, device_type=device_type, firmware=firmware) == use


def test_the_order_of_rules_decides_between_two_that_fit() -> None:
    flow = flow_of(ParserRule(use="any"), ParserRule(use="new", firmware=">=2"))

    assert used(flow, firmware="2.0") == "any"


@pytest.mark.parametrize("firmware", [None, "1.0", "acme-7", ""])
def test_where_no_rule_fits_there_is_none(firmware: str | None) -> None:
    flow = flow_of(ParserRule(use="new", firmware=">=2"))

    assert used(flow, firmware=firmware) is None


@pytest.mark.parametrize("firmware", ["1" * 5000, "1." * 5000 + "1", "2.0rc" + "9" * 5000])
def test_a_version_of_thousands_of_digits_is_just_no_fit(firmware: str) -> None:
    flow = flow_of(ParserRule(use="new", firmware=">=2"))

    assert used(flow, firmware=firmware) is None


CANARY = flow_of(ParserRule(use="new==2.0", firmware=">=2", share=0.05), ParserRule(use="old==1.9"))


def test_a_rule_with_a_share_is_for_so_many_devices_and_the_others_go_on() -> None:
    rules = Counter(
        getattr(
            parser_rule_for(
                CANARY, device_type=None, firmware="2.1", canaries=CANARY.canaries_for(f"d-{n}")
            ),
            "use",
            None,
        )
        for n in range(10_000)
    )

    assert set(rules) == {"new==2.0", "old==1.9"}
    assert 400 < rules["new==2.0"] < 600


def test_a_share_that_grows_keeps_its_devices() -> None:
    small, large = (ParserRule(use="new==2.0", share=share) for share in (0.1, 0.3))
    devices = [f"d-{n}" for n in range(1_000)]

    assert {one for one in devices if small.takes(one)} < {
        one for one in devices if large.takes(one)
    }


def test_another_version_has_other_devices() -> None:
    one, other = (ParserRule(use=f"new=={version}", share=0.5) for version in ("2.0", "2.1"))
    devices = [f"d-{n}" for n in range(1_000)]

    assert 350 < sum(one.takes(device) != other.takes(device) for device in devices) < 650


def test_a_device_that_is_not_known_is_in_no_share() -> None:
    assert used(CANARY, firmware="2.1") == "old==1.9"


@given(st.text() | st.from_regex(r"v?[0-9]+(\.[0-9]+){0,3}((a|rc|\.post|\.dev|\+)[0-9]+)?"))
def test_whatever_a_device_declares_it_gets_one_of_the_rules(firmware: str) -> None:
    assert used(DANCE, firmware=firmware) in {"new", "old"}
