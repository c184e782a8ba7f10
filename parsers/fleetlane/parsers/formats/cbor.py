"""One CBOR data item a message (RFC 8949)."""

import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Final, cast

import cbor2

from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.document_events import EventsInDocument
from fleetlane.parsers.json_domain import BYTES_WRITERS, DEPTH_MAX, BytesAs, in_json_domain

_TagReader = Callable[[object, bool], object]  # the tag's content; whether it is for a key

_INTEGER_BYTES_MAX = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Cbor(EventsInDocument):
    """A map is one event; an array of maps is one event each (see ``EventsInDocument``).

    What becomes of values that JSON lacks, docs/formats.md says. A length is not believed before
    its bytes are there; a tag is a level of nesting.
    """

    bytes_as: BytesAs = "base64url"
    integer_keys: bool = False
    tags_ignored: tuple[int, ...] = ()

    def parse(self, message: bytes) -> Iterator[Mapping[str, object]]:
        item = _data_item(message, _tag_readers(self.tags_ignored), integer_keys=self.integer_keys)
        yield from self.events_in(in_json_domain(item, bytes_as=self.bytes_as, foreign=_simple))


def _data_item(body: bytes, tag_readers: Mapping[int, _TagReader], *, integer_keys: bool) -> object:
    source = io.BytesIO(body)
    decoder = cbor2.CBORDecoder(
        source,
        semantic_decoders=tag_readers,
        max_depth=DEPTH_MAX,
        allow_duplicate_keys=False,
        strict_hashable_types=not integer_keys,
    )
    try:
        item: object = decoder.decode()
    except cbor2.CBORDecodeError as error:
        if isinstance(error.__cause__, MalformedMessage):  # of a tag
            raise error.__cause__ from None
        why = f": {error.__cause__!s:.120}" if error.__cause__ else ""
        raise MalformedMessage(f"not CBOR: {error!s:.120}{why}") from None
    left = len(body) - source.tell()
    if left:
        raise MalformedMessage(f"{left} bytes follow the data item; allowed: none")
    return item


def _simple(value: object) -> object:
    if value is cbor2.undefined:
        return None
    raise MalformedMessage(f"{value!r:.80} is no value of JSON, nor a byte string or undefined")


class _TagReaders(dict[int, _TagReader]):
    """Refuses every tag that has no reader, also those that cbor2 would read by itself."""

    def __missing__(self, tag: int) -> _TagReader:
        return partial(_refuse, tag)


@cache
def _tag_readers(tags_ignored: tuple[int, ...]) -> Mapping[int, _TagReader]:
    return _TagReaders({**_TAG_READERS, **dict.fromkeys(tags_ignored, _content)})


def _refuse(tag: int, *_: object) -> object:
    known = ", ".join(map(str, _TAG_READERS))
    raise MalformedMessage(f"tag {tag}; allowed: {known}, and those of tags_ignored")


def _content(content: object, *_: object) -> object:
    return content


def _of_kind(tag: int, kinds: tuple[type, ...], wanted: str, content: object, *_: object) -> object:
    if type(content) not in kinds:
        raise MalformedMessage(f"tag {tag} is before {type(content).__name__}; allowed: {wanted}")
    return content


def _bignum(tag: int, content: object, *_: object) -> object:
    digits = _byte_string(tag, content).lstrip(b"\0")
    if len(digits) > _INTEGER_BYTES_MAX:
        raise MalformedMessage(f"bignum of {len(digits)} bytes; allowed: {_INTEGER_BYTES_MAX}")
    number = int.from_bytes(digits)
    return number if tag == _POSITIVE_BIGNUM else -1 - number


def _written(tag: int, bytes_as: BytesAs, content: object, *_: object) -> object:
    return BYTES_WRITERS[bytes_as](_byte_string(tag, content))


def _byte_string(tag: int, content: object) -> bytes:
    return cast("bytes", _of_kind(tag, (bytes,), "a byte string", content))


_POSITIVE_BIGNUM = 2
_NEGATIVE_BIGNUM = 3
_TAG_READERS: Final[Mapping[int, _TagReader]] = {
    0: partial(_of_kind, 0, (str,), "text"),
    1: partial(_of_kind, 1, (int, float), "a number"),
    _POSITIVE_BIGNUM: partial(_bignum, _POSITIVE_BIGNUM),
    _NEGATIVE_BIGNUM: partial(_bignum, _NEGATIVE_BIGNUM),
    21: partial(_written, 21, "base64url"),
    22: partial(_written, 22, "base64"),
    23: partial(_written, 23, "hex"),
    **dict.fromkeys((24, 32, 33, 34, 36, 55799), _content),
}
