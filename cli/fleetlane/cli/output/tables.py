"""Tables for people, laid out in one place: each fits its terminal, and nothing is cut off.

Text folds within its column. Columns that still do not fit, which are the last, follow under each
row. A file or a pipe has room for everything.
"""

import shutil
import textwrap
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Final

import typer
from rich.cells import cell_len, chop_cells

_GAP: Final = "  "
_UNDER: Final = "    "
_TEXT_COLUMNS_MIN: Final = 16
"""How narrow a column of text may become before it moves under its row."""

PIPE_COLUMNS: Final = 10_000
_NARROW_SPACE: Final = "\N{NARROW NO-BREAK SPACE}"
_NOTHING: Final = ("", "-", "\N{EN DASH}")


def print_table(
    headings: Sequence[str],
    rows: Iterable[Iterable[str]],
    *,
    right: Collection[str] = (),
    title: str = "",
    empty: str = "",
) -> None:
    """Print as ``table_lines`` lays out, below a title; ``empty`` instead if there are no rows."""
    head, *lines = table_lines(headings, rows, right=right)
    if not lines and empty:
        typer.echo(empty)
        return
    if title:
        typer.echo(typer.style(title, bold=True))
    typer.echo(typer.style(head, bold=True))
    for line in lines:
        typer.echo(line)


def table_lines(
    headings: Sequence[str], rows: Iterable[Iterable[str]], *, right: Collection[str] = ()
) -> list[str]:
    """The headings, of one or more lines, then each row's lines. No terminal obeys a cell.

    Columns in ``right`` hold numbers, which never fold.
    """
    headings, cells = list(map(escaped, headings)), [list(map(escaped, row)) for row in rows]
    width = shutil.get_terminal_size((PIPE_COLUMNS, 1)).columns
    widths = _widths(headings, cells, right, width)
    aligned = [name in right for name in headings]
    lines = ["\n".join(_laid_out(headings, widths, aligned))]
    for row in cells:
        lines += _laid_out(row, widths, aligned)
        under = list(zip(headings, row, strict=True))[len(widths) :]
        text = ", ".join(f"{name}: {cell}" for name, cell in under if cell not in _NOTHING)
        lines += (_UNDER + line for line in _folded(text, width - len(_UNDER)))
    return lines


def _widths(
    headings: Sequence[str], cells: list[list[str]], right: Collection[str], width: int
) -> list[int]:
    """Of the columns that fit, the first in any case."""
    needs, wants = [], []
    for place, heading in enumerate(headings):
        longest = max((cell_len(row[place]) for row in cells), default=0)
        least = longest if heading in right else min(longest, _TEXT_COLUMNS_MIN)
        needs.append(max(least, *(len(word) for word in heading.split(" "))))
        wants.append(max(longest, len(heading)))
    while len(needs) > 1 and sum(needs) + len(_GAP) * (len(needs) - 1) > width:
        needs.pop()
    spare = width - sum(needs) - len(_GAP) * (len(needs) - 1)
    for place, need in enumerate(needs):
        more = min(spare, wants[place] - need)
        needs[place], spare = need + more, spare - more
    return needs


def _laid_out(row: Sequence[str], widths: Sequence[int], aligned: Sequence[bool]) -> Iterator[str]:
    columns = [_folded(text, width) for text, width in zip(row, widths, strict=False)]
    for line in zip_longest(*columns, fillvalue=""):
        pieces = []
        for text, width, is_right in zip(line, widths, aligned, strict=False):
            padding = " " * (width - cell_len(text))
            pieces.append(padding + text if is_right else text + padding)
        yield _GAP.join(pieces).rstrip()


def _folded(text: str, width: int) -> list[str]:
    if cell_len(text) <= width:
        return [text] if text else []
    return textwrap.wrap(text, width) if text.isascii() else chop_cells(text, width)


def escaped(text: str) -> str:
    """Text of a device's, without what a terminal would obey."""
    return "".join(
        one if one.isprintable() or one == _NARROW_SPACE else one.encode("unicode_escape").decode()
        for one in text
    )
