"""What was refused at the door, by owner, device type, firmware and tag."""

from collections.abc import Mapping
from typing import Final

from clients.refusals import Refusal
from fleetlane.events.flows.flow import Flow
from operations.fleet.questions import Table, table

_REFUSALS: Final = table("refusals")


def refusals(counts: Mapping[Refusal, int], flows: Mapping[str, Flow], *, hours: int) -> Table:
    """Most messages first; ``owner`` is of the flow in ``flows``, by stream, if there is one."""
    rows = [
        {
            "tag": one.tag,
            "owner": flows[one.stream].owner if one.stream in flows else None,
            "stream": one.stream or None,
            "device_type": one.device_type or None,
            "firmware": one.firmware or None,
            "messages": messages,
        }
        for one, messages in sorted(counts.items(), key=lambda one: -one[1])
    ]
    return _REFUSALS.answered(_REFUSALS.keys, rows, hours=hours)
