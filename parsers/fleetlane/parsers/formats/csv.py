"""Comma-separated values, as RFC 4180 writes them."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.json_domain import repeated
from fleetlane.parsers.text_cells import CELL_READERS, CellType, event_of, utf8_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Csv:
    """Each row is one event, by a header or by ``columns``. docs/formats.md has the options."""

    delimiter: str = ","
    quote: str = '"'
    columns: tuple[str, ...] = ()
    types: Mapping[str, CellType] = field(default_factory=dict)

    def __post_init__(self) -> None:
        next(_numbered_rows("", self.delimiter, self.quote), None)  # raises where csv refuses them
        if self.columns:
            _require_columns(self.columns, self.types)

    def parse(self, message: bytes) -> Iterator[Mapping[str, object]]:
        rows = _numbered_rows(utf8_text(message), self.delimiter, self.quote)
        columns = self.columns or self._header(rows)
        readers = {name: CELL_READERS[self.types.get(name, "str")] for name in columns}
        for line_number, cells in rows:
            if len(cells) != len(columns):
                problem = f"{len(cells)} cells for {len(columns)} columns"
                raise MalformedMessage(f"line {line_number}: {problem}")
            yield event_of(readers, cells, line_number, "column")

    def _header(self, rows: Iterator[tuple[int, list[str]]]) -> Sequence[str]:
        line_number, columns = next(rows, (0, ()))
        if not columns:
            return ()
        try:
            _require_columns(columns, self.types)
        except ValueError as error:
            raise MalformedMessage(f"line {line_number}: {error}") from None
        return columns


def _numbered_rows(text: str, delimiter: str, quote: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each row that is not blank, after the number of the line it ends in."""
    rows = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter,
        quotechar=quote or None,
        quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
        strict=True,
    )
    try:
        for cells in rows:
            if cells:
                yield rows.line_num, cells
    except csv.Error as error:
        raise MalformedMessage(f"line {rows.line_num}: {error}") from None


def _require_columns(columns: Sequence[str], types: Mapping[str, CellType]) -> None:
    for name in repeated(columns):
        raise ValueError(f"column {name!r:.80} is repeated")
    for name in types:
        if name not in columns:
            raise ValueError(f"no column {name!r:.80}, which the option types names")
