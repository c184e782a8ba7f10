import gzip
import time
import tracemalloc
import zlib

import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from fleetlane.events.errors import ParkedReason
from fleetlane.parsers.body_encoding import PARTS_MAX, BodyTooLargeError, decoded_body
from fleetlane.parsers.contract import MalformedMessage

BODY = b'{"celsius":21.5}'
GZIP = gzip.compress(BODY, mtime=0)
DEFLATE = zlib.compress(BODY)
ZSTD = zstd.compress(BODY, options={zstd.CompressionParameter.checksum_flag: 1})
SKIPPABLE = b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc"
ENCODED = {"gzip": GZIP, "deflate": DEFLATE, "zstd": ZSTD}
BOMB_BYTES = 1 << 30


def raw_deflate(body: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return compressor.compress(body) + compressor.flush()


def streamed_zstd(body: bytes, *, window_log: int) -> bytes:
    """One frame that does not tell its size beforehand."""
    compressor = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: window_log})
    return compressor.compress(body) + compressor.flush()


def bomb(encoding: str) -> bytes:
    """At most a megabyte that inflates to a gigabyte. Its end is never reached, and missing."""
    zeros = bytes(1 << 20)
    if encoding == "zstd":
        return zstd.compress(zeros * 16) * (BOMB_BYTES >> 24)
    compressor = zlib.compressobj(9, wbits=31 if encoding == "gzip" else 15)
    start = compressor.compress(zeros) + compressor.flush(zlib.Z_FULL_FLUSH)
    more = compressor.compress(zeros) + compressor.flush(zlib.Z_FULL_FLUSH)
    return start + more * (BOMB_BYTES >> 20)


ACCEPTED: dict[str, tuple[str | None, bytes, bytes]] = {
    "no encoding": (None, b"\x1f\x8b", b"\x1f\x8b"),
    "gzip": ("gzip", GZIP, BODY),
    "gzip with a name": ("gzip", GZIP[:3] + b"\x08" + GZIP[4:10] + b"a.json\0" + GZIP[10:], BODY),
    "gzip of nothing": ("gzip", gzip.compress(b""), b""),
    "two gzip members": ("gzip", GZIP + GZIP, BODY + BODY),
    "as many gzip members as allowed": ("gzip", GZIP * PARTS_MAX, BODY * PARTS_MAX),
    "deflate": ("deflate", DEFLATE, BODY),
    "zstd": ("zstd", ZSTD, BODY),
    "two zstd frames": ("zstd", ZSTD + ZSTD, BODY + BODY),
    "a zstd frame to skip": ("zstd", SKIPPABLE + ZSTD, BODY),
    "zstd without a size": ("zstd", streamed_zstd(BODY, window_log=21), BODY),
    "zstd with the widest window": ("zstd", streamed_zstd(BODY, window_log=23), BODY),
}

REFUSED = {
    "an unknown encoding": ("br", BODY, "body encoding 'br'; allowed: gzip, deflate, zstd"),
    "an encoding in capitals": ("GZIP", GZIP, "body encoding 'GZIP'; allowed"),
    "gzip that is none": ("gzip", BODY, "not gzip"),
    "nothing as gzip": ("gzip", b"", "gzip body is cut after 0 bytes"),
    "gzip without its last byte": ("gzip", GZIP[:-1], "gzip body is cut after"),
    "gzip without its checksum": ("gzip", GZIP[:-8], "gzip body is cut after"),
    "half of a gzip header": ("gzip", GZIP[:5], "gzip body is cut after 5 bytes"),
    "gzip with a wrong checksum": ("gzip", GZIP[:-8] + bytes(8), "incorrect data check"),
    "gzip with a wrong length": ("gzip", GZIP[:-4] + bytes(4), "incorrect length check"),
    "garbage behind gzip": ("gzip", GZIP + b"abc", "not gzip"),
    "zeros behind gzip": ("gzip", GZIP + bytes(8), "not gzip"),
    "a cut second gzip member": ("gzip", GZIP + GZIP[:-1], "gzip body is cut after"),
    "too many gzip members": ("gzip", GZIP * (PARTS_MAX + 1), "bytes follow the gzip body"),
    "zlib as gzip": ("gzip", DEFLATE, "not gzip"),
    "gzip as deflate": ("deflate", GZIP, "not deflate"),
    "deflate without zlib's frame": ("deflate", raw_deflate(BODY), "not deflate"),
    "deflate without its last byte": ("deflate", DEFLATE[:-1], "deflate body is cut after"),
    "deflate with a wrong checksum": ("deflate", DEFLATE[:-4] + bytes(4), "incorrect data check"),
    "garbage behind deflate": ("deflate", DEFLATE + b"abc", "3 bytes follow the deflate body"),
    "two deflates": ("deflate", DEFLATE * 2, "bytes follow the deflate body; allowed: none"),
    "zstd that is none": ("zstd", BODY, "not zstd"),
    "nothing as zstd": ("zstd", b"", "zstd body is cut after 0 bytes"),
    "zstd without its last byte": ("zstd", ZSTD[:-1], "zstd body is cut after"),
    "zstd with a wrong checksum": ("zstd", ZSTD[:-4] + bytes(4), "not zstd"),
    "garbage behind zstd": ("zstd", ZSTD + b"garbage", "not zstd"),
    "too many zstd frames": ("zstd", ZSTD * (PARTS_MAX + 1), "bytes follow the zstd body"),
    "zstd with a wide window": ("zstd", streamed_zstd(BODY, window_log=24), "not zstd"),
}


@pytest.mark.parametrize(("encoding", "encoded", "body"), ACCEPTED.values(), ids=ACCEPTED)
def test_a_body_is_what_it_was_before_its_encoding(
    encoding: str | None, encoded: bytes, body: bytes
) -> None:
    found = decoded_body(encoded, encoding, bytes_max=1 << 20)

    assert found == body


@pytest.mark.parametrize(("encoding", "encoded", "why"), REFUSED.values(), ids=REFUSED)
def test_a_body_that_is_not_exactly_so_encoded_is_malformed(
    encoding: str, encoded: bytes, why: str
) -> None:
    with pytest.raises(MalformedMessage) as refusal:
        decoded_body(encoded, encoding, bytes_max=1 << 20)

    assert why in str(refusal.value)


@pytest.mark.parametrize("encoding", ENCODED)
def test_a_body_of_the_size_allowed_is_whole(encoding: str) -> None:
    found = decoded_body(ENCODED[encoding], encoding, bytes_max=len(BODY))

    assert found == BODY


@pytest.mark.parametrize("encoding", ENCODED)
def test_a_body_one_byte_larger_is_too_large(encoding: str) -> None:
    with pytest.raises(BodyTooLargeError) as refusal:
        decoded_body(ENCODED[encoding], encoding, bytes_max=len(BODY) - 1)

    assert refusal.value.reason == ParkedReason.TOO_LARGE
    assert str(refusal.value) == f"{encoding} body inflates to more than 15 bytes, the limit"


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_the_limit_is_for_all_members_together(encoding: str) -> None:
    with pytest.raises(BodyTooLargeError):
        decoded_body(ENCODED[encoding] * 2, encoding, bytes_max=2 * len(BODY) - 1)


@pytest.mark.parametrize("encoding", ENCODED)
def test_a_bomb_costs_bounded_memory_and_time(encoding: str) -> None:
    encoded = bomb(encoding)
    assert len(encoded) < 1_100_000

    tracemalloc.start()
    started_s = time.process_time()
    with pytest.raises(BodyTooLargeError):
        decoded_body(encoded, encoding, bytes_max=8 << 20)
    cpu_s = time.process_time() - started_s
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak_bytes < 25 << 20
    assert cpu_s < 1


def test_a_megabyte_of_empty_members_costs_bounded_time() -> None:
    encoded = gzip.compress(b"") * 50_000

    started_s = time.process_time()
    with pytest.raises(MalformedMessage, match="bytes follow the gzip body"):
        decoded_body(encoded, "gzip", bytes_max=1 << 20)

    assert time.process_time() - started_s < 1


@given(body=st.binary(max_size=2_000), encoding=st.sampled_from(["gzip", "deflate", "zstd"]))
def test_every_body_comes_back(body: bytes, encoding: str) -> None:
    encoded = {
        "gzip": gzip.compress(body),
        "deflate": zlib.compress(body),
        "zstd": zstd.compress(body),
    }

    found = decoded_body(encoded[encoding], encoding, bytes_max=len(body))

    assert found == body
