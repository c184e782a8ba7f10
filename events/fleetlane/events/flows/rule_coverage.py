"""Which devices a flow's parser rules are for: two rules for one device, and devices of none."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, product
from typing import Final

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from fleetlane.events.flows.flow import Flow, ParserRule


def overlaps(flow: Flow) -> Iterator[str]:
    """Name a device for each two rules that are both for it, in a sentence.

    A rule may be for the rest of what one above it is for: it leaves out ``firmware`` or
    ``device_types``, and the one above does not.
    """
    for (place, one), (later_place, later) in combinations(enumerate(flow.parsers, start=1), 2):
        if _is_for_the_rest(one, later):
            continue
        kinds = _common_kinds(one, later)
        firmware = common_firmware(one.firmware or "", later.firmware or "")
        if kinds is not None and firmware is not None:
            device = _described(kinds[0] if kinds else None)
            both = f"[[parsers]] {place} ({one.use}) and {later_place} ({later.use})"
            yield (
                f"{both} are both for {device} with firmware {firmware}, and only the first would "
                "be used; let their ranges not meet"
            )


def gaps(flow: Flow) -> Iterator[str]:
    """Name a device that no rule is for, for each kind of device that has one, in a sentence."""
    kinds = sorted(flow.device_types)
    for kind in (*kinds, None):
        rules = [
            rule for rule in flow.parsers if rule.device_types is None or kind in rule.device_types
        ]
        if not rules:
            yield f"a device of any type but {', '.join(kinds)} fits no [[parsers]]: it is parked"
        elif all(rule.firmware is not None for rule in rules):
            yield from _firmware_gaps(kind, [rule.firmware or "" for rule in rules])


def _firmware_gaps(kind: str | None, ranges: Iterable[str]) -> Iterator[str]:
    firmware = missing_firmware(ranges)
    if firmware is not None:
        yield f"{_described(kind)} with firmware {firmware} fits no [[parsers]]: it is parked"
    yield f"{_described(kind)} that declares no firmware fits no [[parsers]]: it is parked"


def _is_for_the_rest(one: ParserRule, later: ParserRule) -> bool:
    leaves_firmware = one.firmware is not None and later.firmware is None
    leaves_kinds = one.device_types is not None and later.device_types is None
    return leaves_firmware or leaves_kinds


def _common_kinds(one: ParserRule, other: ParserRule) -> tuple[str, ...] | None:
    """Types that both are for, ``()`` where both are for all, ``None`` where there is no such."""
    if one.device_types is None or other.device_types is None:
        return one.device_types or other.device_types or ()
    return tuple(kind for kind in one.device_types if kind in other.device_types) or None


def _described(kind: str | None) -> str:
    return "a device" if kind is None else f"a device of type {kind}"


_LOWEST: Final = "0.dev0"
_AFTER_ALL_POSTS: Final = 10**9


def common_firmware(one: str, other: str) -> str | None:
    """A version in both ranges; ``None`` where they do not overlap."""
    ranges = SpecifierSet(one), SpecifierSet(other)
    return next(
        (str(probe) for probe in _probes(ranges) if all(_holds(one, probe) for one in ranges)), None
    )


def missing_firmware(ranges: Iterable[str]) -> str | None:
    """The plainest version in no range; ``None`` where there is none."""
    sets = [SpecifierSet(one) for one in ranges]
    missing = (probe for probe in _probes(sets) if not any(_holds(one, probe) for one in sets))
    plainest = min(missing, key=_plainness, default=None)
    return None if plainest is None else str(plainest)


def _holds(specifiers: SpecifierSet, version: Version) -> bool:
    return specifiers.contains(version, prereleases=True)


def _plainness(version: Version) -> tuple[int, int, Version]:
    oddities = (version.is_prerelease, version.is_devrelease, version.is_postrelease, version.local)
    return sum(map(bool, oddities)), len(version.release), version


def _probes(ranges: Sequence[SpecifierSet]) -> list[Version]:
    """Versions of every kind that the ranges can distinguish, the lowest first."""
    named = [
        version
        for one in ranges
        for specifier in one
        for version in _named(specifier.version.removesuffix(".*"))
    ]
    length = max((len(version.release) for version in named), default=1) + 1
    probes = {Version(_LOWEST), Version("1")}
    for version in named:
        for start in (version, *_next_releases(version)):
            probes.update(_around(start, length))
    return sorted(probes)


def _named(text: str) -> Iterator[Version]:
    try:
        yield Version(text)
    except InvalidVersion:  # of `===`, which may name anything, and then holds no version
        return


def _next_releases(version: Version) -> Iterator[Version]:
    """Where ``==2.1.*`` and ``~=2.1.3`` end: one more in each place of the release."""
    for place in range(len(version.release)):
        release = *version.release[:place], version.release[place] + 1
        yield Version(f"{version.epoch}!{'.'.join(map(str, release))}")


def _around(version: Version, length: int) -> Iterator[Version]:
    """At and just above each of the bounds that a version makes.

    ``length`` is of a release that is longer than any named: there is room below it.
    """
    release = f"{version.epoch}!{'.'.join(map(str, version.release))}"
    longer = release + ".0" * (length - len(version.release)) + ".1"
    pre = "" if version.pre is None else "".join(map(str, version.pre))
    post = "" if version.post is None else f".post{version.post}"
    yield from (
        Version(str(version)),
        Version(f"{version.public}+0"),
        Version(f"{version.public}+z"),
    )
    for stage, later in product(("", pre, *_later_pre(version)), ("", post, *_later_post(version))):
        whole = release + stage + later
        yield from (Version(whole), Version(f"{whole}.dev0"), Version(f"{whole}.dev1"))
        yield from (Version(f"{whole}+0"), Version(f"{whole}+z"))
    yield from _later_dev(version)
    yield from (Version(longer), Version(f"{longer}.dev0"))


def _later_pre(version: Version) -> Iterator[str]:
    yield from ("a0", "rc0")
    if version.pre is not None:
        yield f"{version.pre[0]}{version.pre[1] + 1}"


def _later_post(version: Version) -> Iterator[str]:
    yield from (".post0", f".post{_AFTER_ALL_POSTS}")
    if version.post is not None:
        yield f".post{version.post + 1}"


def _later_dev(version: Version) -> Iterator[Version]:
    if version.dev is not None:
        yield Version(f"{version.public.removesuffix(str(version.dev))}{version.dev + 1}")
