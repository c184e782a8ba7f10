"""Avro by its schemas, which the flow holds or the message brings along."""

import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.document_events import EventsInDocument
from fleetlane.parsers.formats.avro.container import container_records
from fleetlane.parsers.formats.avro.schema import ReadData, compile_schema
from fleetlane.parsers.json_domain import BytesAs
from fleetlane.parsers.package_files import package_file

_FRAME = struct.Struct(">BI")
_ID = re.compile(r"0|[1-9][0-9]{0,9}")
_SUFFIX = ".avsc"


@dataclass(frozen=True, slots=True, kw_only=True)
class Avro(EventsInDocument):
    """Each record is a document: one event, or where ``events_at`` says.

    Without options, a message is a container file (codecs ``null`` and ``deflate``). With schemas,
    it is one record in Confluent's framing: a zero byte, the schema's id in four bytes,
    big-endian, the record. A flow's options travel to the jobs as they are, so schemas are in
    the flow file, or come in a package that is installed beside the job::

        [[parsers]]
        use = "avro"

        [parsers.options.schemas]
        17 = '''
        {"type": "record", "name": "Reading", "fields": [{"name": "celsius", "type": "float"}]}
        '''

    A union's value is without its branch's name. Bytes and fixed become text as ``bytes_as``
    says; a decimal, its exact digits as text; dates and times, what RFC 3339 writes, a timestamp
    in UTC with as many decimals as its unit has; a duration, an object of ``months``, ``days`` and
    ``millis``. A number that is not finite and a repeated key are malformed.

    A record has at most 64 levels and 1,000,000 values, a schema 65,536 bytes, and the blocks of a
    file 64 MiB together, inflated. A count or length is not believed before its bytes are there.

    Attributes:
        schemas: By the schema's id, its JSON text.
        schemas_from: A package's folder, as ``"acme_sensors:schemas"``, of files named for the
            schema's id: ``17.avsc``.
        bytes_as: How bytes become text; ``base64url`` is without padding.
    """

    schemas: Mapping[str, str] = field(default_factory=dict)
    schemas_from: str = ""
    bytes_as: BytesAs = "base64url"
    _read_by_id: Mapping[int, ReadData] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        EventsInDocument.__post_init__(self)
        carried = _schemas_in(self.schemas_from) if self.schemas_from else {}
        for name in carried.keys() & self.schemas.keys():
            raise ValueError(f"schema {name} is in schemas and in {self.schemas_from!r} too")
        texts = {**carried, **self.schemas}
        compiled = {_id(name): _compiled(name, texts[name], self.bytes_as) for name in texts}
        object.__setattr__(self, "_read_by_id", compiled)

    def parse(self, message: bytes) -> Iterator[Mapping[str, object]]:
        framed = bool(self._read_by_id)
        records = self._record(message) if framed else container_records(message, self.bytes_as)
        for record in records:
            yield from self.events_in(record)

    def _record(self, message: bytes) -> Iterator[object]:
        if len(message) < _FRAME.size:
            raise MalformedMessage(f"{len(message)} bytes; the framing alone has {_FRAME.size}")
        magic, schema_id = _FRAME.unpack_from(message)
        if magic:
            raise MalformedMessage(f"the first byte is 0x{magic:02x}; allowed: 0x00")
        if schema_id not in self._read_by_id:
            raise MalformedMessage(f"no schema {schema_id}; known: {_listed(self._read_by_id)}")
        return self._read_by_id[schema_id](message, start=_FRAME.size, count=1)


def _schemas_in(folder: str) -> Mapping[str, str]:
    found = package_file(folder)
    if not found.is_dir():
        raise ValueError(f"{folder!r} is no folder")
    schemas = {
        file.name.removesuffix(_SUFFIX): file.read_text(encoding="utf-8")
        for file in found.iterdir()
        if file.name.endswith(_SUFFIX)
    }
    if not schemas:
        raise ValueError(f"{folder!r} has no {_SUFFIX} files")
    return schemas


def _id(name: str) -> int:
    if not _ID.fullmatch(name) or int(name) >= 1 << 32:
        raise ValueError(f"{name!r:.80} is no schema's id: an integer of 32 bits")
    return int(name)


def _compiled(name: str, text: str, bytes_as: BytesAs) -> ReadData:
    try:
        return compile_schema(text.encode(), bytes_as)
    except ValueError as problem:
        raise ValueError(f"schema {name}: {problem}") from None


def _listed(ids: Mapping[int, object]) -> str:
    return ", ".join(map(str, sorted(ids)))
