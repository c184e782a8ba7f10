"""What is no message of its type, and what would take too much to read."""

import resource
import tracemalloc
from base64 import b64encode

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet  # type: ignore[import-untyped]

from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.formats.protobuf.parser import Protobuf
from tests.unit.parsers.protobuf_parsers import EVERY, KNOWN, OLD


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ("08", "no acme.v1.Every"),
        ("0896", "no acme.v1.Every"),
        ("08ffffffffffffffffffff01", "no acme.v1.Every"),
        ("00", "no acme.v1.Every"),
        ("1207746573", "no acme.v1.Every"),
        ("12ffffffff0f61", "no acme.v1.Every"),
        ("1201ff", "no acme.v1.Every"),
        ("1a0208", "no acme.v1.Every"),
        ("0b0801", "no acme.v1.Every"),
        ("0f", "no acme.v1.Every"),
        ("32028001ff", "no acme.v1.Every"),
        ("59000000000000f07f", "a number is inf; numbers are finite"),
        ("9d010000c07f", "a number is nan; numbers are finite"),
        ("ba01030a0161ba01050a01611007", "key 'a' is repeated within a map"),
        ("ca0100ca01020800", "key 'false' is repeated within a map"),
    ],
)
def test_what_is_no_such_message_is_malformed(message: str, why: str) -> None:
    with pytest.raises(MalformedMessage) as refusal:
        list(EVERY.parse(bytes.fromhex(message)))

    assert why in str(refusal.value)


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ("", "required fields are missing: id"),
        ("08051201ff", "is not UTF-8"),
        ("080523", "no acme.old.Old"),
        ("080524", "no acme.old.Old"),
    ],
)
def test_what_proto2_does_not_allow_is_malformed(message: str, why: str) -> None:
    with pytest.raises(MalformedMessage) as refusal:
        list(OLD.parse(bytes.fromhex(message)))

    assert why in str(refusal.value)


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ("0a0a08ffffffffffffffff7f", "Timestamp: "),
        ("0a0b10ffffffffffffffffff01", "Timestamp: "),
        ("120a08ffffffffffffffff7f", "Duration: "),
        ("2a0911000000000000f07f", "a number is inf"),
        ("220e0a050a017812000a050a01781200", "key 'x' is repeated within a map"),
    ],
)
def test_a_well_known_type_beyond_its_range_is_malformed(message: str, why: str) -> None:
    with pytest.raises(MalformedMessage) as refusal:
        list(KNOWN.parse(bytes.fromhex(message)))

    assert why in str(refusal.value)


def nested(levels: int) -> bytes:
    message = b""
    for _ in range(levels):
        message = b"\x1a" + varint(len(message)) + message
    return message


def varint(number: int) -> bytes:
    octets = bytearray()
    while number > 0x7F:
        octets.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*octets, number])


@pytest.mark.parametrize(
    ("levels", "why"), [(64, "nested deeper than 64 levels"), (5000, "no acme.v1.Every")]
)
def test_messages_nested_too_deeply_are_malformed(levels: int, why: str) -> None:
    with pytest.raises(MalformedMessage, match=why):
        list(EVERY.parse(nested(levels)))


def test_groups_nested_too_deeply_are_malformed() -> None:
    with pytest.raises(MalformedMessage, match=r"no acme\.v1\.Every"):
        list(EVERY.parse(b"\xfb\x7f" * 100_000))


def test_many_values_are_refused_before_they_are_made() -> None:
    tracemalloc.start()

    with pytest.raises(MalformedMessage, match="more than 1000000 values"):
        list(EVERY.parse(b"\x32" + varint(1_000_001) + b"\1" * 1_000_001))

    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 5_000_000


def test_wide_messages_of_two_bytes_each_are_refused_before_they_fill_the_memory() -> None:
    file = FileDescriptorProto(name="wide.proto", syntax="proto3")
    wide = file.message_type.add(name="Wide")
    for number in range(1, 1001):
        wide.field.add(name=f"f{number}", number=number, type="TYPE_INT64", label="LABEL_OPTIONAL")
    file.message_type.add(name="Batch").field.add(
        name="all", number=1, type="TYPE_MESSAGE", type_name=".Wide", label="LABEL_REPEATED"
    )
    octets = FileDescriptorSet(file=[file]).SerializeToString()
    parser = Protobuf(descriptor_set=b64encode(octets).decode(), message="Batch")
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    with pytest.raises(MalformedMessage, match="more than 1000000 values"):
        list(parser.parse(b"\x0a\0" * 500_000))

    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib < 200_000
