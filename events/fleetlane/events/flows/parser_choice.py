"""The firmware dance: which of a flow's parsers a device's messages are for."""

from functools import lru_cache

from packaging.specifiers import SpecifierSet
from packaging.version import Version

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


@lru_cache(maxsize=4096)
def _is_within(firmware: str | None, specifiers: str) -> bool:
    if firmware is None:
        return False
    try:
        return SpecifierSet(specifiers).contains(Version(firmware), prereleases=True)
    except ValueError:  # InvalidVersion, or a number of thousands of digits
        return False
