"""Files of an Iceberg table by DuckDB's own reader of Parquet: each column by its field's id."""

from dataclasses import dataclass, replace
from datetime import date
from typing import Self


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetRows:
    """``files`` of a table, each with its day, and ``fields`` by id, name and Iceberg's type.

    Lists and structs are left out. A field that a file is older than is null in its rows.
    """

    files: tuple[tuple[str, date], ...]
    fields: tuple[tuple[int, str, str], ...]

    def since(self, day: date) -> Self:
        """Those of a day on: no file of another is opened."""
        return replace(self, files=tuple(one for one in self.files if one[1] >= day))

    def __str__(self) -> str:
        """What DuckDB reads them ``from``."""
        paths = ", ".join(f"'{one.replace("'", "''")}'" for one, _ in self.files)
        if not paths:  # DuckDB reads at least one
            nulls = ", ".join(f"null::{kind} as {name}" for _, name, kind in self.fields)
            return f"(select {nulls} where false)"
        columns = ", ".join(
            f"{field_id}: {{name: '{name}', type: '{kind}', default_value: null}}"
            for field_id, name, kind in self.fields
        )
        return f"read_parquet([{paths}], schema = map {{{columns}}})"
