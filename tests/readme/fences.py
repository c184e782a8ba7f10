"""The README as a newcomer reads it: what to type, and which files to write."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_FENCE: Final = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
_IN_BACKTICKS: Final = re.compile(r"`([^`]+)`")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """A block of code. ``path`` is what stands last in backticks in the line above it, if any."""

    language: str
    text: str
    path: str | None


def fences_of(markdown: str, *, section: str) -> Iterator[Fence]:
    """The blocks of the section of this title, in order."""
    body = _section(markdown, section)
    for found in _FENCE.finditer(body):
        above = body[: found.start()].rstrip().rpartition("\n")[2]
        named = _IN_BACKTICKS.findall(above)
        yield Fence(
            language=found["language"], text=found["text"], path=named[-1] if named else None
        )


def _section(markdown: str, title: str) -> str:
    after = f"\n{markdown}".partition(f"\n## {title}\n")[2]
    assert after, f"the README has no section {title!r}"
    return after.partition("\n## ")[0]
