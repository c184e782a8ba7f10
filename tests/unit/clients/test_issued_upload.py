"""What is fixed at issue survives its way through S3's metadata, and fits there."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.s3.upload_bucket import IssuedUpload, NotAnUploadError, issued_from
from fleetlane.events.attributes import ATTRIBUTES_BYTES_MAX, attributes_text, checked_attributes
from tests.unit.events.messages import attributes


def is_short(text: str | None) -> bool:
    return text is None or len(text.encode()) <= ATTRIBUTES_BYTES_MAX


VISIBLE = "".join(map(chr, range(33, 127)))
METADATA_BYTES_MAX = 2048

uploads = st.builds(
    IssuedUpload,
    device_id=st.text(string.ascii_letters + "._-", min_size=1, max_size=64),
    device_type=st.text(string.ascii_lowercase, min_size=1, max_size=48),
    is_quarantined=st.booleans(),
    stream=st.text(string.ascii_lowercase, min_size=1, max_size=48),
    body_bytes=st.integers(1, 1 << 40),
    sha256=st.binary(min_size=32, max_size=32).map(bytes.hex),
    content_type=st.text(VISIBLE + " ", min_size=1, max_size=256),
    attributes=attributes.map(attributes_text).filter(is_short),
    firmware=st.none() | st.text(VISIBLE, min_size=1, max_size=64),
    start_millis=st.none() | st.integers(-(10**18) + 1, 10**18 - 1),
    end_millis=st.none() | st.integers(-(10**18) + 1, 10**18 - 1),
    body_encoding=st.none() | st.sampled_from(["gzip", "deflate", "zstd"]),
    via=st.none() | st.text(string.ascii_letters + "._-", min_size=1, max_size=64),
)


@given(uploads)
def test_it_is_read_as_it_was_written(upload: IssuedUpload) -> None:
    metadata = upload.to_metadata()

    assert issued_from(metadata, key="uploads/x") == upload


@given(uploads)
def test_it_fits_into_s3_s_metadata_without_a_character_to_escape(upload: IssuedUpload) -> None:
    metadata = upload.to_metadata()

    assert len(metadata) < METADATA_BYTES_MAX - 100
    assert set(metadata) <= set(string.ascii_letters + string.digits + "-_=")


@given(st.text(max_size=100))
def test_anything_else_is_refused(metadata: str) -> None:
    with pytest.raises(NotAnUploadError, match="its metadata were not written by Fleetlane"):
        issued_from(metadata, key="uploads/x")


def test_the_longest_that_there_can_be_fits() -> None:
    known = {f"a{number}": "x" * 8 for number in range(10)}
    longest = IssuedUpload(
        device_id="d" * 64,
        device_type="t" * 48,
        attributes=attributes_text(known),
        is_quarantined=False,
        stream="s" * 48,
        body_bytes=10**9,
        sha256="0" * 64,
        content_type='"' * 256,
        firmware='"' * 64,
        start_millis=-(10**18) + 1,
        end_millis=-(10**18) + 1,
        body_encoding="deflate",
        via="v" * 64,
    )
    checked_attributes(known)

    assert len(longest.to_metadata()) < METADATA_BYTES_MAX - 100
