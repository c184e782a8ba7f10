"""Event time: when the device says a thing happened, and whether that is plausible."""

from collections.abc import Mapping

from fleetlane.events.canonical import EventTime, TimeQuality
from fleetlane.events.flows.flow import EventTimeRule, TimeUnit
from fleetlane.events.times import MILLIS_MAX, MILLIS_MIN, millis_from_rfc3339


def event_time_of(
    event: Mapping[str, object], rule: EventTimeRule | None, *, arrival_millis: int
) -> EventTime:
    """Read an event's time by its flow's rule. Clocks are flagged, never corrected."""
    millis = None if rule is None else _millis(_at(event, rule.path), rule.unit)
    if rule is None or millis is None or not MILLIS_MIN <= millis <= MILLIS_MAX:
        return EventTime(None, TimeQuality.MISSING, arrival_millis)
    if millis > arrival_millis + rule.future_after_s * 1000:
        return EventTime(millis, TimeQuality.FUTURE, arrival_millis)
    if millis < arrival_millis - rule.ancient_after_s * 1000:
        return EventTime(millis, TimeQuality.ANCIENT, arrival_millis)
    return EventTime(millis, TimeQuality.OK, millis)


def _at(event: Mapping[str, object], path: tuple[str, ...]) -> object:
    if len(path) == 1 and type(event) is dict:  # as nearly all are
        return event.get(path[0])
    value: object = event
    for name in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return value


def _millis(value: object, unit: TimeUnit) -> int | None:
    if type(value) is int and unit is TimeUnit.MILLISECONDS:
        return value
    if unit is TimeUnit.RFC3339:
        return millis_from_rfc3339(value) if isinstance(value, str) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    millis = value * 1000 if unit is TimeUnit.SECONDS else value
    if not MILLIS_MIN <= millis <= MILLIS_MAX:  # nor is NaN
        return None
    return round(millis)  # 1.001 s times 1000 is a hair less than 1001
