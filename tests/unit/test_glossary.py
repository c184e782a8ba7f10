"""The words that docs/glossary.md refuses appear in no name, text or document of the product."""

import ast
import re
import subprocess
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Final

import pytest

from local.checkout import ROOT

GLOSSARY: Final = ROOT / "docs" / "glossary.md"
CODE: Final = (
    "events", "parsers", "cli", "clients", "lambdas", "glue_jobs", "infra", "operations", "local",
    "benchmarks", "examples",
)  # fmt: skip
DOCUMENTS: Final = (
    "docs",
    "flows",
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
)
PUBLISHED: Final = (
    "put_off", "good_messages_put_off", "heard_ms", "smear_s", "over_ceiling", "overtime_used_up",
)  # fmt: skip
"""Names of columns and fields that others read: they stay as they were published."""

_PUBLISHED: Final = re.compile(rf"(?<!\w)({'|'.join(PUBLISHED)})(?!\w)")
_ROW: Final = re.compile(r"^\| (?P<term>.+?) \| .+ \|(?P<words>[^|]*)\|$", re.MULTILINE)
_WORD: Final = re.compile(r"[a-z']+")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """``plain`` is what to write instead. ``is_name_only``: in a sentence the word is fine."""

    words: str
    plain: str
    is_name_only: bool


def refused_in(glossary: str) -> Iterator[Refused]:
    for row in _ROW.finditer(glossary):
        for words in filter(None, map(str.strip, row["words"].split(","))):
            yield Refused(
                words=words.strip("`"), plain=row["term"], is_name_only=words.startswith("`")
            )


REFUSED: Final = tuple(refused_in(GLOSSARY.read_text().partition("|---|")[2]))
_NAMES: Final = {one.words: one.plain for one in REFUSED if one.is_name_only}
_TEXT: Final = {one.words: one.plain for one in REFUSED if not one.is_name_only}
_ANY_OF_TEXT: Final = re.compile(
    rf"(?<![a-z'])({'|'.join(sorted(_TEXT, key=len, reverse=True))})(?![a-z'])"
)


def found_in_text(text: str) -> Iterator[str]:
    """What to mend in a text: quotes, line breaks and underscores count as spaces."""
    unpublished = _PUBLISHED.sub("", text.lower())
    for found in _ANY_OF_TEXT.findall(" ".join(_WORD.findall(unpublished))):
        yield f"{found!r}; write: {_TEXT[found]}"


def found_in_name(name: str) -> Iterator[str]:
    if name not in PUBLISHED:
        spaced = _CAMEL.sub("_", name).lower().strip("_")
        yield from (f"{name}: {one}" for one in found_in_text(spaced))
        for whole in {spaced, name} & _NAMES.keys():
            yield f"{name}; write: {_NAMES[whole]}"


def found_in_code(source: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.arg(arg=name):
                found = found_in_name(name)
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                found = found_in_name(name)
            case ast.Constant(value=str(text)) if " " in text:
                found = found_in_text(text)
            case _:
                continue
        yield from ((node.lineno, one) for one in found)
    if "#" in source:
        for token in tokenize.generate_tokens(StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                yield from ((token.start[0], one) for one in found_in_text(token.string))


def found_in_document(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        yield from ((number, one) for one in found_in_text(line))


@cache
def tracked_files() -> tuple[Path, ...]:
    git = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=True)
    return tuple(path for name in listed.stdout.split("\0") if (path := ROOT / name).is_file())


def found_below(place: str) -> Iterator[str]:
    for path in tracked_files():
        if path == GLOSSARY or not path.is_relative_to(ROOT / place):
            continue
        if path.suffix == ".py":
            found = found_in_code(path.read_text())
        elif path.suffix in {".md", ".toml", ".yaml", ".j2", ".txt"}:
            found = found_in_document(path.read_text())
        else:
            continue
        yield from (f"{path.relative_to(ROOT)}:{line} {one}" for line, one in sorted(set(found)))


@pytest.mark.parametrize("place", [*CODE, *DOCUMENTS])
def test_the_glossarys_words_are_the_ones_that_are_used(place: str) -> None:
    found = list(found_below(place))

    assert not found, "\n".join(["words that docs/glossary.md refuses:", *found])


@pytest.mark.parametrize(
    "source",
    ["class OddMessages: ...", "x.put_off_s = 1", "# It is away.", "def f(): 'Is told\\nof it.'"],
)
def test_a_refused_word_is_found_in_names_comments_and_docstrings(source: str) -> None:
    assert list(found_in_code(source))


@pytest.mark.parametrize(
    "source", ["put_off = 1", "# It was tried again.", "columns = 'a, put_off'"]
)
def test_published_names_and_whole_name_words_in_sentences_are_fine(source: str) -> None:
    assert list(found_in_code(source)) == []
