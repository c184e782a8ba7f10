"""Comma-separated values, as RFC 4180 writes them."""

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.text_cells import CellType, cell_readers, event_of, utf8_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Csv:
    """Each row is one event, by a header or by ``columns``. docs/formats.md has the options."""

    delimiter: str = ","
    quote: str = '"'
    columns: tuple[str, ...] = ()
    types: Mapping[str, CellType] = field(default_factory=dict)

    def __post_init__(self) -> None:
        next(_numbered_rows("", self.delimiter, self.quote), None)  # raises where it refuses them
        if self.columns:
            cell_readers(self.columns, self.types, "column")  # likewise

    def parse(self, message: bytes) -> Iterator[Mapping[str, object]]:
        rows = _numbered_rows(utf8_text(message), self.delimiter, self.quote)
        line_number, columns = (0, self.columns) if self.columns else next(rows, (0, ()))
        try:
            readers = cell_readers(columns, self.types, "column") if columns else {}
        except ValueError as error:  # of a header
            raise MalformedMessage(f"line {line_number}: {error}") from None
        for line_number, cells in rows:
            if len(cells) != len(readers):
                problem = f"{len(cells)} cells for {len(readers)} columns"
                raise MalformedMessage(f"line {line_number}: {problem}")
            yield event_of(readers, cells, line_number, "column")


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
