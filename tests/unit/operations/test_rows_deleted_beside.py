"""A table with deletes beside its files: it is refused, rather than read with what is gone."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from clients.lake.laptop_lake import RowsDeletedBesideError
from fleetlane.events.lake.tables import RECEIVED
from operations.fleet.tables import planned_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedOnRead:
    """A table that has a plan: so many files, of which some have deletes beside them."""

    files: int
    with_deletes: int

    def name(self) -> tuple[str, str]:
        return "fleetlane", "received"

    def scan(self, **_: object) -> "MergedOnRead":
        return self

    def plan_files(self) -> list[SimpleNamespace]:
        return [
            SimpleNamespace(delete_files={"deletes.parquet"} if at < self.with_deletes else set())
            for at in range(self.files)
        ]


def test_a_table_with_deletes_beside_its_files_is_refused_with_their_number() -> None:
    table: Any = MergedOnRead(files=5, with_deletes=2)

    with pytest.raises(RowsDeletedBesideError) as refused:
        planned_rows(table, RECEIVED, where="day >= '2025-11-03'")

    assert str(refused.value) == (
        "fleetlane.received has 2 data files with deletes beside them: compact it first"
    )
