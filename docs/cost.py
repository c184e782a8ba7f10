"""Puts what `python -m infra.cost` prints into docs/cost.md: `.venv/bin/python -m docs.cost`."""  # noqa: INP001

from functools import partial
from pathlib import Path
from typing import Final

from docs.tables import tables_put
from infra.cost.__main__ import report_of

DOCUMENT: Final = Path(__file__).with_suffix(".md")
BEGIN: Final = "<!-- what `python -m infra.cost` prints: begin -->"
END: Final = "<!-- what `python -m infra.cost` prints: end -->"
with_tables: Final = partial(tables_put, begin=BEGIN, end=END, name="docs/cost.md")
"""The document with these tables between its markers."""

if __name__ == "__main__":
    DOCUMENT.write_text(with_tables(DOCUMENT.read_text(), report_of([])))
