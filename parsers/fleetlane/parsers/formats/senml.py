"""Sensor Measurement Lists in JSON (RFC 8428), resolved."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.json_domain import INTEGER_MAX, INTEGER_MIN, json_value, kind_of

type _Fields = Mapping[str, Any]

VERSION: Final = 10
RELATIVE_SECONDS_BELOW: Final = 2**28

_KINDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("bn", "bu", "n", "u", "vs", "vd"), "a string"),
    **dict.fromkeys(("bt", "bv", "bs", "bver", "v", "s", "t", "ut"), "a number"),
    "vb": "a boolean",
}
_BASES: Final = ("bn", "bt", "bu", "bv", "bs")
_VALUES: Final = ("v", "vs", "vb", "vd")
_RESOLVED: Final = frozenset({*_BASES, *_VALUES, "bver", "n", "u", "s", "t"})
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9:./_-]*")
_BASE64URL: Final = re.compile(r"[A-Za-z0-9_-]*={0,2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Senml:
    """Each record of the pack is one event, in the pack's order, with its base values applied.

    The parser has no clock: a time relative to when the device sent it is under ``t_relative``
    instead of ``t``. docs/formats.md says what else an event has.
    """

    def parse(self, message: bytes) -> Iterator[Mapping[str, object]]:
        pack = json_value(message)
        if not isinstance(pack, list) or not pack:
            found = "an empty array" if pack == [] else kind_of(pack)
            raise MalformedMessage(f"the pack is {found}; allowed: an array of records")
        version: object = None
        bases: dict[str, object] = {}
        for position, record in enumerate(pack):
            try:
                fields = _fields(record)
                version = _version(fields, version)
                bases.update({label: fields[label] for label in _BASES if label in fields})
                event = _resolved(fields, bases, version)
            except MalformedMessage as problem:
                raise MalformedMessage(f"record {position}: {problem}") from None
            yield event


def _fields(record: object) -> _Fields:
    if not isinstance(record, dict):
        raise MalformedMessage(f"found {kind_of(record)}; records are objects")
    for label, value in record.items():
        if label.endswith("_"):
            raise MalformedMessage(f"label {label!r:.80} must be understood, and is not")
        if label in _KINDS and kind_of(value) != _KINDS[label]:
            raise MalformedMessage(f"{label!r} is {kind_of(value)}; allowed: {_KINDS[label]}")
    return record


def _version(record: _Fields, so_far: object) -> object:
    version = record.get("bver", VERSION if so_far is None else so_far)
    if not isinstance(version, int) or not 1 <= version <= VERSION:
        raise MalformedMessage(f"'bver' is {version}; allowed: 1 to {VERSION}")
    if so_far is not None and version != so_far:
        raise MalformedMessage(f"'bver' is {version}, but {so_far} in the records before")
    return version


def _resolved(record: _Fields, bases: _Fields, version: object) -> _Fields:
    name = f"{bases.get('bn', '')}{record.get('n', '')}"
    if not _NAME.fullmatch(name):
        allowed = "letters, digits and -:./_ after a letter or digit"
        raise MalformedMessage(f"name {name!r:.80}; allowed: {allowed}")
    event: dict[str, object] = {"n": name}
    event |= {label: record[label] for label in record if label not in _RESOLVED}
    if unit := record.get("u", bases.get("bu")):
        event["u"] = unit
    event |= _value(record, bases)
    if "t" in record or "bt" in bases:
        seconds = _sum(record, bases, "t")
        event["t_relative" if seconds < RELATIVE_SECONDS_BELOW else "t"] = seconds
    if version != VERSION:
        event["bver"] = version
    return event


def _value(record: _Fields, bases: _Fields) -> dict[str, object]:
    labels = [label for label in _VALUES if label in record]
    if len(labels) > 1:
        raise MalformedMessage(f"found {' and '.join(labels)}; allowed: one of {' '.join(_VALUES)}")
    found = {label: record[label] for label in labels}
    has_sum = "s" in record or "bs" in bases
    if "v" in found or (not found and not has_sum and "bv" in bases):
        found["v"] = _sum(record, bases, "v")
    if "vd" in found and not _BASE64URL.fullmatch(str(found["vd"])):
        raise MalformedMessage(f"'vd' is {found['vd']!r:.80}; allowed: base64url")
    if has_sum:
        found["s"] = _sum(record, bases, "s")
    if not found:
        raise MalformedMessage(f"found no value; allowed: one of {' '.join(_VALUES)} s")
    return found


def _sum(record: _Fields, bases: _Fields, label: str) -> int | float:
    total: int | float = bases.get(f"b{label}", 0) + record.get(label, 0)
    is_integer = isinstance(total, int)
    if (is_integer and not INTEGER_MIN <= total <= INTEGER_MAX) or not math.isfinite(total):
        raise MalformedMessage(f"{label!r} and its base value are together beyond any number")
    return total
