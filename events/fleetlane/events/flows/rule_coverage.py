"""Which devices a flow's parser rules are for: two rules for one device, and devices of none."""

import re
from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import combinations
from operator import or_

from packaging.ranges import VersionRange
from packaging.specifiers import SpecifierSet

from fleetlane.events.flows.flow import Flow, ParserRule


def overlaps(flow: Flow) -> Iterator[str]:
    """Name a device for each two rules that are both for it, in a sentence.

    A rule may be for the rest of what one above it is for: it leaves out ``firmware`` or
    ``device_types``, and the one above does not; or the one above has a ``share``.
    """
    for (place, one), (later_place, later) in combinations(enumerate(flow.parsers, start=1), 2):
        if _is_for_the_rest(one, later):
            continue
        kinds = _common_kinds(one, later)
        firmware = common_firmware(one.firmware or "", later.firmware or "")
        if kinds is not None and firmware is not None:
            device = _described(kinds[0] if kinds else None)
            both = f"[[parsers]] {place} ({one.use}) and {later_place} ({later.use})"
            overlap = f"{both} are both for {device} with firmware {firmware}"
            yield f"{overlap}, and only the first would be used; let their ranges not meet"


def gaps(flow: Flow) -> Iterator[str]:
    """Name a device that no rule is for, for each kind of device that has one, in a sentence."""
    kinds = sorted(flow.device_types)
    for kind in (*kinds, None):
        whole = [rule for rule in flow.parsers if rule.share is None]
        rules = [one for one in whole if one.device_types is None or kind in one.device_types]
        if not rules:
            others = f" of any type but {', '.join(kinds)}" if kinds and kind is None else ""
            yield f"{_described(kind)}{others} fits no [[parsers]]: it is parked"
        elif all(rule.firmware is not None for rule in rules):
            device = _described(kind)
            firmware = missing_firmware(rule.firmware or "" for rule in rules)
            if firmware is not None:
                yield f"{device} with firmware {firmware} fits no [[parsers]]: it is parked"
            yield f"{device} that declares no firmware fits no [[parsers]]: it is parked"


def _is_for_the_rest(one: ParserRule, later: ParserRule) -> bool:
    leaves_firmware = one.firmware is not None and later.firmware is None
    leaves_kinds = one.device_types is not None and later.device_types is None
    return leaves_firmware or leaves_kinds or one.share is not None


def _common_kinds(one: ParserRule, other: ParserRule) -> tuple[str, ...] | None:
    """Types that both are for, ``()`` where both are for all, ``None`` where there is no such."""
    if one.device_types is None or other.device_types is None:
        return one.device_types or other.device_types or ()
    return tuple(kind for kind in one.device_types if kind in other.device_types) or None


def _described(kind: str | None) -> str:
    return "a device" if kind is None else f"a device of type {kind}"


def common_firmware(one: str, other: str) -> str | None:
    """A version in both ranges, or a range of them; ``None`` where they do not overlap."""
    return _example(_range(one) & _range(other), (one, other))


def missing_firmware(ranges: Iterable[str]) -> str | None:
    """A version in no range, or a range of them; ``None`` where there is none."""
    known = tuple(ranges)
    covered = reduce(or_, map(_range, known), VersionRange.empty(prereleases=True))
    return _example(~covered, known)


def _range(specifiers: str) -> VersionRange:
    return SpecifierSet(specifiers, prereleases=True).to_range()


def _example(wanted: VersionRange, ranges: Iterable[str]) -> str | None:
    """The plainest version in ``wanted``, of those that the ranges name or nearly name."""
    if wanted.is_empty:
        return None
    named = re.findall(r"(?:[0-9]+!)?[0-9]+(?:\.[0-9]+)*", " ".join(ranges))
    stages = ("", ".1", "a0", ".post0", ".dev0")
    plainest = ("1", *named, *(f"{one}{stage}" for stage in stages for one in named))
    found = next(filter(wanted.contains, plainest), None)
    return found or str(wanted.to_specifier_set() or wanted)
