"""Ranges of firmware that meet, and firmware that none of them holds."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from fleetlane.events.flows.rule_coverage import common_firmware, missing_firmware

numbers = st.integers(0, 3)
releases = st.lists(numbers, min_size=1, max_size=3).map(lambda parts: ".".join(map(str, parts)))
pre = st.just("") | st.builds("{}{}".format, st.sampled_from(["a", "b", "rc"]), numbers)
post = st.just("") | st.builds(".post{}".format, numbers)
dev = st.just("") | st.builds(".dev{}".format, numbers)
publics = st.builds("".join, st.tuples(st.sampled_from(["", "", "1!"]), releases, pre, post, dev))
local = st.just("") | st.sampled_from(["+0", "+7", "+acme.1"])
versions = st.builds("".join, st.tuples(publics, local))
specifiers = st.one_of(
    st.builds("{}{}".format, st.sampled_from([">=", "<=", ">", "<", "!=", "=="]), publics),
    st.builds("{}{}".format, st.sampled_from(["==", "!=", "==="]), versions),
    st.builds("{}{}.*".format, st.sampled_from(["==", "!="]), releases),
    st.builds("~={}".format, publics.filter(lambda text: len(Version(text).release) > 1)),
)
ranges = st.lists(specifiers, max_size=3).map(",".join)


def holds(specifiers: str, version: str) -> bool:
    return SpecifierSet(specifiers).contains(Version(version), prereleases=True)


def is_version(named: str) -> bool:
    """Where nothing plain is among them, a range is named, not a version."""
    try:
        Version(named)
    except InvalidVersion:
        return False
    return True


@given(ranges, ranges, versions)
@example(">=2", "<2.1", "2.0.5")
@example("<2", "<=1.9", "1!0.dev0")
@example(">2", "<2.0.1", "2.0.0.7")
@example("==2.*", ">2.3", "2.999")
def test_ranges_that_both_hold_a_version_meet_and_what_is_named_is_in_both(
    one: str, other: str, version: str
) -> None:
    common = common_firmware(one, other)

    if holds(one, version) and holds(other, version):
        assert common is not None
    if common is not None and is_version(common):
        assert holds(one, common)
        assert holds(other, common)


@given(st.lists(ranges, max_size=3), versions)
def test_where_no_range_holds_a_version_one_is_named_that_none_holds(
    several: list[str], version: str
) -> None:
    missing = missing_firmware(several)

    if not any(holds(one, version) for one in several):
        assert missing is not None
    if missing is not None and is_version(missing):
        assert not any(holds(one, missing) for one in several)


@pytest.mark.parametrize(
    ("one", "other", "common"),
    [
        (">=2", "<2", None),
        (">=2,<3", ">=3", None),
        (">=2", "<=2", "2"),
        ("==1.*", "==2.*", None),
        ("~=1.4", "==1.9.*", "1.9"),
        (">1", "<1.0.post3", None),
        ("", "==7", "7"),
    ],
)
def test_whether_ranges_meet(one: str, other: str, common: str | None) -> None:
    found = common_firmware(one, other)

    assert found == common


@pytest.mark.parametrize(
    ("ranges", "missing"),
    [
        ([">=2", "<2"], "2a0"),
        ([">=2.dev0", "<2"], None),
        ([">=3", "<2"], "2"),
        ([">2", "<2"], "2"),
        ([""], None),
        ([], "1"),
    ],
)
def test_the_plainest_missing_version_is_named(ranges: list[str], missing: str | None) -> None:
    found = missing_firmware(ranges)

    assert found == missing
