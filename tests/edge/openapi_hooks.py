"""What OpenAPI cannot say: which numbers a text holds, and that one is no larger than another."""

import schemathesis

from fleetlane.events.times import MILLIS_MAX, MILLIS_MIN

_START, _END = "X-Data-Start-Millis", "X-Data-End-Millis"


@schemathesis.hook
def map_headers(
    _: schemathesis.HookContext, headers: dict[str, str] | None
) -> dict[str, str] | None:
    """Leave out times in no year from 1 to 9999, and an end that is before its start."""
    if not headers:
        return headers
    kept = {
        name: value
        for name, value in headers.items()
        if name not in {_START, _END} or MILLIS_MIN <= _millis(headers, name) <= MILLIS_MAX
    }
    if _millis(kept, _START) > _millis(kept, _END):
        return {name: value for name, value in kept.items() if name != _END}
    return kept


def _millis(headers: dict[str, str], name: str) -> int:
    value = str(headers.get(name, ""))
    return int(value) if value.removeprefix("-").isdecimal() and value.isascii() else 0
