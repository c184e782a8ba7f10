"""Lines of text, taken apart by a regular expression."""

import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from operator import itemgetter
from typing import Final, Literal

import re2  # type: ignore[import-untyped]

from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.text_cells import CellType, cell_readers, event_of, utf8_text

LINE_BYTES_MAX: Final = 131_072


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Each line is one event: the named groups of a regular expression that fits all of it.

    The expression is RE2's. It reads each byte a bounded number of times whatever a device sends,
    where Python's ``re`` may need years. docs/formats.md has the options.
    """

    pattern: str
    types: Mapping[str, CellType] = field(default_factory=dict)
    unmatched: Literal["refuse", "skip"] = "refuse"

    def __post_init__(self) -> None:
        _, groups = _compiled(self.pattern)
        if not groups:
            raise ValueError("pattern has no named group, as in (?P<celsius>[0-9]+)")
        cell_readers(groups, self.types, "group")  # raises where the types name others

    def parse(self, message: bytes) -> Iterator[Mapping[str, object]]:
        utf8_text(message)
        lines = io.BytesIO(message.removeprefix(_BYTE_ORDER_MARK))
        expression, groups = _compiled(self.pattern)
        readers = cell_readers(groups, self.types, "group")
        for line_number, line in enumerate(lines, start=1):
            if line.isspace():
                continue
            if len(line) > LINE_BYTES_MAX:
                problem = f"line {line_number} has {len(line)} bytes"
                raise MalformedMessage(f"{problem}; allowed: {LINE_BYTES_MAX} bytes")
            match = expression.fullmatch(line.removesuffix(b"\n").removesuffix(b"\r"))
            if match:
                texts = match.groups()
                found = (texts[number - 1] for number in groups.values())
                cells = (None if text is None else text.decode() for text in found)
                yield event_of(readers, cells, line_number, "group")
            elif self.unmatched == "refuse":
                raise MalformedMessage(f"line {line_number}: {line!r:.80} does not fit the pattern")


_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_GROUP_NAME = re.compile(r"(?<!\\)\(\?P?<\w+>")


@cache
def _compiled(pattern: str) -> tuple[re2._Regexp, Mapping[str, int]]:
    """The expression, and the numbers of its groups by their names, in order."""
    options = re2.Options()
    options.log_errors = False
    try:
        expression = re2.compile(pattern, options)
    except re2.error as error:
        (why,) = error.args
        raise ValueError(f"pattern {pattern!r:.80}: {why.decode()}") from None
    groups = dict(sorted(expression.groupindex.items(), key=itemgetter(1)))
    if len(groups) != len(_GROUP_NAME.findall(pattern)):  # RE2 would keep the first
        raise ValueError(f"pattern {pattern!r:.80}: two groups have one name")
    return expression, groups
