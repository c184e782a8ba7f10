"""Finds the parser that a flow names, and makes it with the flow's options."""

import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from importlib.metadata import Distribution, EntryPoint, EntryPoints, distributions
from typing import Final, cast, get_type_hints

import msgspec
from packaging.utils import canonicalize_name

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.flows.artifacts import is_same_version, split_use
from fleetlane.parsers.contract import Parser

ENTRY_POINT_GROUP = "fleetlane.parsers"
BUILT_IN_DISTRIBUTION = "fleetlane-parsers"
IDENTIFIER_CHARS_MAX: Final = 200
"""It is in each event and in each row of what was parsed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledParser:
    """A parser that is installed here. It may not have been imported yet.

    ``location`` is set where another version would be imported in its place, unless this entry
    of ``sys.path`` came first.
    """

    name: str
    version: str
    distribution: str
    entry_point: EntryPoint
    location: str | None = None

    @property
    def use(self) -> str:
        """What a flow file writes to use it: ``json``, or ``acme-thermo==1.2.0``."""
        return self.name if self.is_built_in else f"{self.name}=={self.version}"

    @property
    def identifier(self) -> str:
        """What canonical events name it: ``acme-thermo@1.2.0``."""
        return f"{self.name}@{self.version}"

    @property
    def is_built_in(self) -> bool:
        return self.distribution == BUILT_IN_DISTRIBUTION

    def answers_to(self, use: str) -> bool:
        """Whether a flow that writes ``use`` means this one. Versions compare by PEP 440."""
        name, version = split_use(use)
        if name != self.name or (version is None) is not self.is_built_in:
            return False
        return version is None or is_same_version(version, self.version)


class UnknownParserError(FleetlaneError):
    """No installed parser, or more than one, is what the flow asks for."""

    use: str
    matches: tuple[str, ...]
    installed: tuple[str, ...]

    def __str__(self) -> str:
        if self.matches:
            return f"parser {self.use!r} comes from several packages: {', '.join(self.matches)}"
        return f"no parser {self.use!r}; installed: {', '.join(self.installed) or 'none'}"


class ParserOptionError(FleetlaneError):
    """An option in the flow file does not fit the parser."""

    parser: str
    problem: str
    sentence = "parser {parser!r}: {problem}"


class BrokenParserError(FleetlaneError):
    """The parser is installed, but its entry point leads to no parser, or its version is no use."""

    parser: str
    problem: str
    sentence = "parser {parser!r} is broken: {problem}"


def installed_parsers(location: str | None = None) -> tuple[InstalledParser, ...]:
    """List what is installed, built-in formats first, then by name. Imports none of it.

    With a ``location``, what is there alone. Of a package with several versions on ``sys.path``
    only the first is listed, as only the first can be imported.
    """
    return _listed_once(tuple(sys.path)) if location is None else _listed((location,), location)


def _listed(path: tuple[str, ...], location: str | None = None) -> tuple[InstalledParser, ...]:
    by_name: dict[str, tuple[Distribution, EntryPoints]] = {}
    for one in distributions(path=list(path)):
        # Asked before its name, which is in its metadata: 60 ms for all.
        if offered := one.entry_points.select(group=ENTRY_POINT_GROUP):
            by_name.setdefault(canonicalize_name(one.name), (one, offered))
    found = [
        InstalledParser(
            name=entry_point.name,
            version=one.version,
            distribution=one.name,
            entry_point=entry_point,
            location=location,
        )
        for one, offered in by_name.values()
        for entry_point in offered
    ]
    return tuple(sorted(found, key=lambda parser: (not parser.is_built_in, parser.use)))


_listed_once = cache(_listed)
"""For ``sys.path`` as it is: 30 ms, which each parser's process inherits instead."""


def find_parser(use: str, location: str | None = None) -> InstalledParser:
    """Find the one that a flow means by ``use``: a built-in format's name, or ``name==version``.

    Raises:
        UnknownParserError: It is not installed, not in that version, or not pinned; or two packages
            offer it.
        BrokenParserError: Its package writes its version at too great a length.
    """
    installed = installed_parsers(location)
    matches = [parser for parser in installed if parser.answers_to(use)]
    if len(matches) != 1:
        packages = tuple(f"{match.distribution} {match.version}" for match in matches)
        raise UnknownParserError(use, packages, tuple(parser.use for parser in installed))
    size, limit = len(matches[0].identifier), IDENTIFIER_CHARS_MAX
    if size > limit:
        problem = f"its name and version have {size} characters; the limit is {limit} characters"
        raise BrokenParserError(use, problem)
    return matches[0]


def located_parser(use: str) -> InstalledParser:
    """Find a parser for a process of its own, where it may be a version that is hidden here.

    Raises ``UnknownParserError`` where no single entry of ``sys.path`` has it either.
    """
    try:
        return find_parser(use)
    except UnknownParserError as problem:
        if problem.matches:
            raise
        for entry in sys.path:
            with suppress(UnknownParserError):
                return find_parser(use, entry)
        raise


def load_parser(use: str, options: Mapping[str, object], location: str | None = None) -> Parser:
    """Import the parser that a flow means by ``use`` and give it its options.

    With a ``location`` it is looked for there alone, which is first on ``sys.path`` from now on.

    Raises:
        UnknownParserError: As ``find_parser``.
        BrokenParserError: So too; or its module or class is missing or has no ``parse``. Whatever
            else its module raises at import comes through.
        ParserOptionError: An option is unknown, or its value is not allowed.
    """
    if location is not None:
        sys.path.insert(0, location)
    parser_class = _parser_class(find_parser(use, location))
    values = _option_values(use, parser_class, options)
    try:
        return cast("Parser", parser_class(**values))
    except (TypeError, ValueError) as error:  # of its __post_init__
        raise ParserOptionError(use, str(error)) from error


def _parser_class(found: InstalledParser) -> type:
    try:
        loaded: object = found.entry_point.load()
    except (ImportError, AttributeError) as error:
        raise BrokenParserError(found.use, str(error)) from error
    if not isinstance(loaded, type) or not callable(getattr(loaded, "parse", None)):
        raise BrokenParserError(found.use, f"{found.entry_point.value} is no class with a parse")
    return loaded


def _option_values(use: str, parser: type, options: Mapping[str, object]) -> dict[str, object]:
    types: dict[str, object] = {}
    if is_dataclass(parser):
        hints = get_type_hints(parser)
        types = {field.name: hints[field.name] for field in fields(parser) if field.init}
    values: dict[str, object] = {}
    for name, value in options.items():
        if name not in types:
            allowed = ", ".join(sorted(types)) or "none"
            raise ParserOptionError(use, f"no option {name!r}; allowed: {allowed}")
        try:
            values[name] = msgspec.convert(value, types[name])
        except msgspec.ValidationError as error:
            raise ParserOptionError(use, f"option {name!r} is {value!r:.80}: {error}") from error
    return values
