"""What is fuzzed: every format, with options that open all of it, and every body encoding."""

import gzip
import io
import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import cbor2
import fastavro
import msgpack  # type: ignore[import-untyped]
from backports import zstd

from fleetlane.parsers.body_encoding import BodyTooLargeError, decoded_body
from fleetlane.parsers.contract import MalformedMessage, Parser
from fleetlane.parsers.formats.avro.parser import Avro
from fleetlane.parsers.formats.binary.parser import Binary
from fleetlane.parsers.formats.cbor import Cbor
from fleetlane.parsers.formats.csv import Csv
from fleetlane.parsers.formats.json import Json
from fleetlane.parsers.formats.lines import Lines
from fleetlane.parsers.formats.msgpack import Msgpack
from fleetlane.parsers.formats.ndjson import Ndjson
from fleetlane.parsers.formats.protobuf.parser import Protobuf
from fleetlane.parsers.formats.senml import Senml
from tests.fuzz.bombs import avro_bomb, avro_crowd, deflate_bomb, gzip_bomb, zstd_bomb

BODY_BYTES_MAX = 64 << 20
READINGS = [{"t": 1.5, "serial": "s1", "ok": True, "more": {"a": [1, None, -7]}}]

type Parse = Callable[[bytes], Iterator[Mapping[str, object]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What takes messages; samples of good ones, pieces to build others of, and the worst known.

    Where crafted messages are known to take for ever (see ``Cbor.integer_keys``) ``is_flat``
    keeps pieces out.
    """

    parse: Parse
    samples: Sequence[bytes]
    pieces: Sequence[bytes]
    worst: Sequence[bytes] = ()
    is_flat: bool = False


def _hex(*words: str) -> list[bytes]:
    return [bytes.fromhex(word) for word in words]


JSON_PIECES = [
    *(b"{", b"}", b"[", b"]", b",", b":", b" ", b"\n", b'"', b'"a":', b'"b":', b'"a"'),
    *(b"1", b"-0", b"0.1", b"1e308", b"1e400", b"18446744073709551616", b"-9223372036854775809"),
    *(b"true", b"null", b"NaN", b"Infinity", b'"\\ud800"', b'"\\u0000"', b"\\"),
    *(b"\xff", b"\xef\xbb\xbf"),
]
JSON_SAMPLES = [
    json.dumps(READINGS).encode(),
    b'{"a":{"b":[1,2.5,-3e2,"\\u00e9\\n",true,null]},"c":18446744073709551615}',
    b"[" * 63 + b"{}" + b"]" * 63,
]
SENML_PIECES = [
    *JSON_PIECES,
    *(b'"bn":', b'"bt":', b'"bu":', b'"bv":', b'"bs":', b'"n":', b'"v":', b'"t":', b'"vs":'),
    *(b'"vb":', b'"vd":', b'"s":', b'"ut":', b'"bver":', b'{"n":"a","v":1}', b"1e308"),
]
SENML_SAMPLES = [
    b'[{"bn":"a","bt":1e9,"bu":"V","bv":2,"bs":1,"bver":5,"v":1},{"n":"b","t":5,"vs":"x"}]',
    b'[{"n":"a","vb":true,"ut":1},{"n":"b","vd":"AQ"},{"n":"c","s":1e308,"bs":1e308}]',
]
TEXT_PIECES = [
    *(b",", b'"', b'""', b"\r\n", b"\n", b"\r", b" ", b"\0", b"\xef\xbb\xbf", b"\xff", b"at", b"c"),
    *(b"1", b"-1", b"1e400", b"nan", b"1_0", b"9" * 50, b"true", b".5", "é\u2028".encode()),
]
CSV_SAMPLES = [b'at,c,note\r\n1,2.5,"a ""b"",\nc"\r\n2,,\r\n', b"at,c\n" + b"1,2\n" * 50]
LINE_SAMPLES = [b"21.5 oven\n-3 box\r\n", b"\xef\xbb\xbf1 a", b"1e400 a\n", b"a\0b"]
CBOR_PIECES = _hex(
    *("00", "17", "1bffffffffffffffff", "20", "3bffffffffffffffff", "40", "4461626364", "5f", "60"),
    *("6161", "6162", "7f", "7bffffffffffffffff", "80", "81", "82", "9f", "9bffffffffffffffff"),
    *("a0", "a1", "a2", "bf", "ff", "c0", "c1", "c2", "c349", "d5", "d7", "d81c", "d81d", "d90100"),
    *("f4", "f6", "f7", "f0", "f97e00", "f97c00", "fb7ff0000000000000", "d9d9f7"),
)
CBOR_SAMPLES = [
    cbor2.dumps(READINGS),
    cbor2.dumps({"raw": b"\xff\0", "big": 2**63, "nested": [[[{"a": 1.5}]]]}),
    cbor2.dumps(READINGS, indefinite_containers=True),
    *_hex("a261310161320203", "a16178c11a514b67b0", "a16178c249010000000000000000"),
    *_hex("d81c81d81d00", "d9010082616161d81900", "a16178c482f97e0001", "a1d8236128f7"),
]
MSGPACK_PIECES = _hex(
    *("00", "7f", "80", "81", "82", "90", "91", "a0", "a161", "a162", "c0", "c1", "c2", "c4ff"),
    *("c7ff01", "ca7fc00000", "cb7ff0000000000000", "cfffffffffffffffff", "d38000000000000000"),
    *("d4ff00", "d6ff00000000", "d7ffffffffffffffffff", "d9ff", "dbffffffff", "dcffff"),
    *("ddffffffff", "deffff", "dfffffffff", "e0"),
)
MSGPACK_SAMPLES = [
    msgpack.packb([{**READINGS[0], "raw": b"\xff\0"}]),
    msgpack.packb({"at": msgpack.Timestamp(1_700_000_000, 5), "x": msgpack.ExtType(5, b"abc")}),
    *_hex("820102a13103", "81910102", "ddffffffff"),
]
EVERY_AVRO_TYPE = {
    "type": "record",
    "name": "Reading",
    "fields": [
        {"name": "i", "type": "int"},
        {"name": "l", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "f", "type": "float"},
        {"name": "s", "type": ["null", "string"]},
        {"name": "b", "type": {"type": "bytes", "logicalType": "decimal", "precision": 30}},
        {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["A", "B"]}},
        {"name": "a", "type": {"type": "array", "items": "null"}},
        {"name": "m", "type": {"type": "map", "values": "double"}},
        {"name": "x", "type": {"type": "fixed", "name": "F", "size": 3}},
        {"name": "next", "type": ["null", "Reading"]},
    ],
}
_ALONE = {
    "i": 1,
    "l": 5,
    "f": 1.5,
    "s": "a",
    "b": Decimal(7),
    "e": "A",
    "a": [None],
    "m": {"k": 2.0},
}
AVRO_READING = {**_ALONE, "x": b"abc", "next": {**_ALONE, "x": b"abc", "next": None}}
AVRO_PIECES = _hex(
    *("00", "01", "02", "03", "04", "7f", "80", "feffffff0f", "ffffffffffffffffff01", "0000c07f"),
    *("0261", "026b", "06616263", "00000000", "4f626a01", "00" * 16, "0000000007", "02" * 30),
)
PROTOBUF_PIECES = _hex(
    *("08", "0896", "01", "12", "1207746573", "1a", "1a00", "22", "2a", "3206", "38", "40", "49"),
    *("59", "000000000000f07f", "9d01", "0000c07f", "a001", "aa01", "ba01050a01611007", "ca0100"),
    *("c2010408011200", "d201020805", "ffffffff0f", "ffffffffffffffffff01", "0b", "0c", "0f", "ff"),
    *("23", "24", "22090a070a01781202", "2a0911000000000000f83f", "32060a0220010a00", "0a0808dcb3"),
)
PROTOBUF_SAMPLES = _hex(
    *("089601", "120774657374696e67", "220568656c6c6f280128022803", "3206038e029ea705"),
    *("1a03089601", "ba01050a01611007ca0100", "d201020805d20100aa0100", "59000000000000f83f"),
    *("0a0808dcb3a7c8061000", "22090a070a017812022001", "2a0632040a022001", "4a060a0161120162"),
)
SET = "tests.unit.parsers:schemas/every_type.binpb"
BINARY_HEADER = (
    {"type": "bytes:2", "equals": "a55a"},
    {"name": "serial", "type": "text:8"},
    {"name": "readings", "type": "u16be"},
)
BINARY_FIELDS = (
    {"name": "at", "type": "u32le"},
    {"name": "celsius", "type": "f32le", "scale": 0.01},
    {"name": "volts", "type": "f64be"},
    {"name": "mode", "type": "u8", "values": {"0": "idle", "1": "heating"}},
    {"type": "u8", "bits": [{"name": "is_on", "bits": 1}, {"name": "battery", "bits": 7}]},
    {"name": "count", "type": "i64be"},
)
BINARY_RECORD = bytes.fromhex("010000000000c03f3ff800000000000001c90000000000000005")
BINARY_SAMPLES = [
    bytes.fromhex("a55a 74682d3137000000 0002") + 2 * BINARY_RECORD,
    bytes.fromhex("a55a 74682d3137000000 0000"),
]
BINARY_PIECES = [b"\xa5\x5a", BINARY_RECORD, *_hex("0000", "0001", "ffff", "0000807f", "0000c07f")]


def _avro_file(codec: str) -> bytes:
    file = io.BytesIO()
    records = [AVRO_READING] * 3
    fastavro.writer(file, fastavro.parse_schema(EVERY_AVRO_TYPE), records, codec=codec)
    return file.getvalue()


def _framed_avro() -> bytes:
    record = io.BytesIO()
    fastavro.schemaless_writer(record, fastavro.parse_schema(EVERY_AVRO_TYPE), AVRO_READING)
    return b"\0\0\0\0\7" + record.getvalue()


def _protobuf(message: str, framing: str = "single") -> Parser:
    return Protobuf(descriptor_set=SET, message=message, framing=framing)  # type: ignore[arg-type] # one of the two


def _format(parser: Parser, samples: Sequence[bytes], pieces: Sequence[bytes]) -> Subject:
    return Subject(parse=parser.parse, samples=samples, pieces=pieces)


def _encoding(name: str, compress: Callable[[bytes], bytes], bomb: bytes) -> Subject:
    def parse(message: bytes) -> Iterator[Mapping[str, object]]:
        try:
            body = decoded_body(message, name, bytes_max=BODY_BYTES_MAX)
        except BodyTooLargeError as problem:
            raise MalformedMessage(str(problem)) from None
        assert len(body) <= BODY_BYTES_MAX
        yield {}

    samples = [compress(b""), compress(b"abc" * 99), compress(bytes(range(256)) * 9)]
    return Subject(
        parse=parse,
        samples=samples,
        pieces=[*samples, samples[1][:10], samples[1][-8:], bytes(8), b"\xff" * 4],
        worst=[bomb],
    )


def _avro_files() -> Subject:
    return Subject(
        parse=Avro().parse,
        samples=[_avro_file("null"), _avro_file("deflate")],
        pieces=[*AVRO_PIECES, b"avro.codec", b"avro.schema", b'"type":', b'"null"'],
        worst=[avro_bomb(), avro_crowd()],
    )


def _avro_framed() -> Subject:
    avro = Avro(schemas={"7": json.dumps(EVERY_AVRO_TYPE)})
    return _format(avro, [_framed_avro()], AVRO_PIECES)


def _lenient_cbor() -> Subject:
    cbor = Cbor(integer_keys=True, tags_ignored=(4, 25, 28, 29, 256))
    return Subject(parse=cbor.parse, samples=CBOR_SAMPLES, pieces=CBOR_PIECES, is_flat=True)


def _delimited() -> Subject:
    records = _hex("", "0a020805", "0a0208050a020806", "0a00")
    samples = [bytes([len(one)]) + one for one in records]
    return _format(_protobuf("acme.v1.Batch", "delimited"), samples, PROTOBUF_PIECES)


def _binary() -> Subject:
    parser = Binary(header=BINARY_HEADER, fields=BINARY_FIELDS, count="readings")
    return _format(parser, BINARY_SAMPLES, BINARY_PIECES)


def _csv() -> Subject:
    return _format(Csv(types={"at": "int", "c": "float"}), CSV_SAMPLES, TEXT_PIECES)


def _lines() -> Subject:
    parser = Lines(pattern=r"(?P<a>\S+) (?P<b>.*)", types={"a": "float"})
    return _format(parser, LINE_SAMPLES, TEXT_PIECES)


SUBJECTS: Mapping[str, Callable[[], Subject]] = {
    "json": lambda: _format(Json(), JSON_SAMPLES, JSON_PIECES),
    "ndjson": lambda: _format(Ndjson(), [b'{"a":1}\n\n{"b":[2]}\r\n', *JSON_SAMPLES], JSON_PIECES),
    "csv": _csv,
    "senml": lambda: _format(Senml(), SENML_SAMPLES, SENML_PIECES),
    "lines": _lines,
    "cbor": lambda: _format(Cbor(), CBOR_SAMPLES, CBOR_PIECES),
    "cbor-lenient": _lenient_cbor,
    "msgpack": lambda: _format(Msgpack(), MSGPACK_SAMPLES, MSGPACK_PIECES),
    "msgpack-lenient": lambda: _format(
        Msgpack(integer_keys=True, bytes_as="hex"), MSGPACK_SAMPLES, MSGPACK_PIECES
    ),
    "avro-file": _avro_files,
    "avro-framed": _avro_framed,
    "protobuf": lambda: _format(_protobuf("acme.v1.Every"), PROTOBUF_SAMPLES, PROTOBUF_PIECES),
    "protobuf-known": lambda: _format(
        _protobuf("acme.v1.KnownTypes"), PROTOBUF_SAMPLES, PROTOBUF_PIECES
    ),
    "protobuf-delimited": _delimited,
    "binary": _binary,
    "gzip": lambda: _encoding("gzip", lambda body: gzip.compress(body, mtime=0), gzip_bomb()),
    "deflate": lambda: _encoding("deflate", zlib.compress, deflate_bomb()),
    "zstd": lambda: _encoding("zstd", zstd.compress, zstd_bomb()),
}
"""All of them, each made when it is asked for."""
