"""Files of an Iceberg table by DuckDB's own reader of Parquet: each column by its field's id."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetRows:
    """``files`` of a table, each with its day, and ``fields`` by id, name and Iceberg's type.

    Types are of single values. A field that a file is older than is null in its rows.
    """

    files: tuple[tuple[str, date], ...]
    fields: tuple[tuple[int, str, str], ...]

    def since(self, day: date | None = None) -> str:
        """What DuckDB reads them ``from``: of a day on, without opening a file of another."""
        files = [one for one, its_day in self.files if day is None or its_day >= day]
        if not files:  # DuckDB reads at least one
            nulls = ", ".join(f"null::{kind} as {name}" for _, name, kind in self.fields)
            return f"(select {nulls} where false)"
        return f"read_parquet([{_listed(map(_quoted, files))}], schema = map {{{self._columns}}})"

    @property
    def _columns(self) -> str:
        return _listed(
            f"{field_id}: {{name: '{name}', type: '{kind}', default_value: null}}"
            for field_id, name, kind in self.fields
        )


def _listed(texts: Iterable[str]) -> str:
    return ", ".join(texts)


def _quoted(text: str) -> str:
    return f"'{text.replace("'", "''")}'"
