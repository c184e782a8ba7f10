"""Which of a flow's parsers a device's messages are for, and how a rule names its parser."""

from functools import lru_cache

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from fleetlane.events.flows.flow import Flow, ParserRule


def parser_rule_for(
    flow: Flow, *, device_type: str | None, firmware: str | None
) -> ParserRule | None:
    """The first of the flow's parser rules that fits the device; ``None`` where none does."""
    for rule in flow.parsers:
        if rule.device_types is not None and device_type not in rule.device_types:
            continue
        if rule.firmware is None or _is_within(firmware, rule.firmware):
            return rule
    return None


def split_use(use: str) -> tuple[str, str | None]:
    """The parser's name, and its version where one is pinned."""
    name, pinned, version = (part.strip() for part in use.partition("=="))
    return name, version if pinned else None


def is_same_version(one: str, other: str) -> bool:
    """Whether two versions are equal by PEP 440; what is no version equals nothing."""
    try:
        return Version(one) == Version(other)
    except InvalidVersion:
        return False


@lru_cache(maxsize=4096)
def _is_within(firmware: str | None, specifiers: str) -> bool:
    if firmware is None:
        return False
    try:
        return SpecifierSet(specifiers).contains(Version(firmware), prereleases=True)
    except ValueError:  # InvalidVersion, or a number of thousands of digits
        return False
