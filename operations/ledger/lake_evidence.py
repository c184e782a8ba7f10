"""What the lake holds of messages: ids of events, and parked copies by id and digest."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Self

from pyiceberg.catalog import Catalog

from fleetlane.events import headers as ce
from fleetlane.events.lake.tables import EVENTS, PARKED
from operations.fleet.tables import planned_table


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeEvidence:
    """Ids of events; of parked messages, their id and the SHA-256 of their bytes in hex."""

    event_ids: frozenset[str] = frozenset()
    parked: frozenset[tuple[str, str]] = frozenset()

    @classmethod
    def read(cls, catalog: Catalog) -> Self:
        """Read both tables wholly: for a lake that is as small as what is to be proved."""
        events = planned_table(catalog, EVENTS, where=None)
        parked = planned_table(catalog, PARKED, where=None)
        return cls(
            event_ids=frozenset(events.to_table(columns=["id"]).column("id").to_pylist()),
            parked=frozenset(
                (row["id"], _digest(row))
                for row in parked.to_table(columns=["id", "headers", "body"]).to_pylist()
                if row["id"] is not None
            ),
        )


def _digest(row: dict[str, Any]) -> str:
    """A reference's own, else that of the bytes."""
    for header in row["headers"]:
        if header["key"] == ce.DATA_SHA256:
            return str(header["value"].decode(errors="replace"))
    return sha256(row["body"] or b"").hexdigest()
