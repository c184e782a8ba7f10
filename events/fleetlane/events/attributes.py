"""Attributes of a device that the registry knows and its events may take along, like its site.

They travel as one JSON object of texts that need no escapes, with its names in order.
"""

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from fleetlane.events.errors import FleetlaneError

ATTRIBUTES_MAX: Final = 10
ATTRIBUTES_BYTES_MAX: Final = 180
"""Of all of a device together, as they travel: an upload has them in the metadata of its object."""

ATTRIBUTE_PATTERN: Final = "[a-z][a-z0-9]{0,19}"
"""As CloudEvents 1.0 advises for the names of attributes: they are these of our events."""

VALUE_PATTERN: Final = r'[^"\\\x00-\x1f\x7f\ud800-\udfff]{1,100}'
RESERVED: Final = frozenset({
    "specversion", "id", "source", "type", "subject", "time", "datacontenttype", "dataschema",
    "dataref", "data", "rawid", "arrivalmillis", "parser", "revision", "timequality", "devicetype",
    "firmware",
})  # fmt: skip
"""Attributes that every canonical event has, or CloudEvents defines."""

_NAME: Final = re.compile(ATTRIBUTE_PATTERN)
_VALUE: Final = re.compile(VALUE_PATTERN)
_PAIR: Final = f'"{ATTRIBUTE_PATTERN}":"{VALUE_PATTERN}"'
_written: Final = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode
_TEXT: Final = re.compile(rf"\{{{_PAIR}(,{_PAIR}){{0,{ATTRIBUTES_MAX - 1}}}\}}")


class BadAttributeError(FleetlaneError):
    """A device cannot have such attributes."""

    problem: str
    sentence = "attributes: {problem}"


def checked_attributes(attributes: Mapping[str, str]) -> None:
    """Raise ``BadAttributeError`` where there are too many, or a name or value is not allowed."""
    if len(attributes) > ATTRIBUTES_MAX:
        raise BadAttributeError(f"{len(attributes)} are given; allowed: {ATTRIBUTES_MAX}")
    for name, value in attributes.items():
        if not _NAME.fullmatch(name) or name in RESERVED:
            allowed = f"{ATTRIBUTE_PATTERN}, and none of {', '.join(sorted(RESERVED))}"
            raise BadAttributeError(f"name {name!r:.80}; allowed: {allowed}")
        if not _VALUE.fullmatch(str(value)):
            raise BadAttributeError(f"{name} is {value!r:.80}; allowed: {VALUE_PATTERN}")
    size_bytes = len((attributes_text(attributes) or "").encode())
    if size_bytes > ATTRIBUTES_BYTES_MAX:
        raise BadAttributeError(f"have {size_bytes} bytes; allowed: {ATTRIBUTES_BYTES_MAX}")


def attributes_text(attributes: Mapping[str, str]) -> str | None:
    """Write attributes that were checked; ``None`` where there are none."""
    return _written(dict(attributes)) if attributes else None


def are_attributes(text: str) -> bool:
    """Whether a text is one that ``attributes_text`` may write."""
    return _TEXT.fullmatch(text) is not None


@lru_cache(maxsize=4096)
def some_attributes(text: str | None, names: tuple[str, ...]) -> bytes:
    """Those of these names, as they go on in a JSON object: ``,"site":"ulm"``."""
    known = json.loads(text) if text and names else {}
    found = attributes_text({name: known[name] for name in names if name in known})
    return b"" if found is None else b",%b" % found[1:-1].encode()
