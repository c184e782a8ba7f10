import hashlib

import pytest

from fleetlane.events.names import content_raw_id, hashed_id, is_raw_id, keyed_raw_id, random_raw_id

SHA256 = hashlib.sha256(b"body").digest()


def blake2b_128(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def test_a_keyed_id_hashes_device_stream_key_and_digest_each_after_its_length() -> None:
    by_hand = (
        b"\x00\x00\x00\x04d-17" + b"\x00\x00\x00\x06thermo" + b"\x00\x00\x00\x03k\xc3\xa4"
        b"\x00\x00\x00\x20" + SHA256
    )

    raw_id = keyed_raw_id("d-17", "thermo", "kä", SHA256)

    assert raw_id == "1" + blake2b_128(by_hand)


def test_a_content_id_hashes_device_stream_and_digest_each_after_its_length() -> None:
    by_hand = b"\x00\x00\x00\x04d-17" + b"\x00\x00\x00\x06thermo" + b"\x00\x00\x00\x20" + SHA256

    raw_id = content_raw_id("d-17", "thermo", SHA256)

    assert raw_id == "1" + blake2b_128(by_hand)


def test_ids_never_change_from_release_to_release() -> None:
    found = (
        hashed_id([]),
        keyed_raw_id("d-17", "thermo", "k", bytes(32)),
        content_raw_id("d-17", "thermo", bytes(32)),
    )

    assert found == (
        "1cae66941d9efbd404e4d88758ea67670",
        "17d68a6858c982bf8170fcd8012a13efa",
        "145022524f2afdf7f3fbe64d7b63f7080",
    )


def test_where_a_field_ends_matters() -> None:
    lists = [
        [b"ab", b"c"],
        [b"a", b"bc"],
        [b"abc"],
        [b"abc", b""],
        [b"", b"abc"],
        [b"ab", b"", b"c"],
    ]

    ids = {hashed_id(fields) for fields in lists}

    assert len(ids) == len(lists)


def test_the_same_key_with_other_bytes_is_another_message() -> None:
    other = hashlib.sha256(b"other").digest()

    assert keyed_raw_id("d", "s", "k", SHA256) != keyed_raw_id("d", "s", "k", other)


@pytest.mark.parametrize(("device_id", "stream"), [("d2", "s"), ("d", "s2")])
def test_the_same_bytes_from_elsewhere_are_another_message(device_id: str, stream: str) -> None:
    assert content_raw_id(device_id, stream, SHA256) != content_raw_id("d", "s", SHA256)


def test_random_ids_are_raw_ids_and_differ() -> None:
    ids = {random_raw_id() for _ in range(100)}

    assert len(ids) == 100
    assert all(is_raw_id(raw_id) for raw_id in ids)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "1",
        "2" + "a" * 32,
        "1" + "A" * 32,
        "1" + "a" * 31,
        "1" + "a" * 33,
        "1" + "a" * 32 + "\n",
    ],
)
def test_what_is_no_raw_id_is_reported(value: str) -> None:
    assert not is_raw_id(value)
