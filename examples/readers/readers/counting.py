"""Which events count: one of each id, and of each message those of its highest revision."""

from collections.abc import Iterable

from fleetlane.events.canonical import CanonicalEvent


def events_that_count(events: Iterable[CanonicalEvent]) -> list[CanonicalEvent]:
    """Drop what repeats, and what a replay replaced, among these events; order stays.

    What was read before is to be compared where it was stored: examples/readers shows it in SQL.
    """
    events = list(events)
    newest: dict[str, int] = {}
    for one in events:
        newest[one.rawid] = max(one.revision, newest.get(one.rawid, one.revision))
    by_id = {(one.type, one.id): one for one in events if one.revision == newest[one.rawid]}
    return list(by_id.values())
