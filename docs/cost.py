"""Puts what `python -m infra.cost` prints into docs/cost.md: `.venv/bin/python -m docs.cost`."""  # noqa: INP001

from pathlib import Path
from typing import Final

from infra.cost.__main__ import report_of

DOCUMENT: Final = Path(__file__).with_suffix(".md")
BEGIN: Final = "<!-- what `python -m infra.cost` prints: begin -->"
END: Final = "<!-- what `python -m infra.cost` prints: end -->"


def with_tables(document: str, tables: str) -> str:
    """The document with these tables between its markers."""
    before, _, rest = document.partition(BEGIN)
    _, end, after = rest.partition(END)
    assert end, f"docs/cost.md has no lines {BEGIN!r} and {END!r}, in this order"
    return f"{before}{BEGIN}\n\n{tables}\n\n{END}{after}"


if __name__ == "__main__":
    DOCUMENT.write_text(with_tables(DOCUMENT.read_text(), report_of([])))
