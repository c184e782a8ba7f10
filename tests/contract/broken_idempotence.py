"""Breaks a producer as a broker sometimes does, by librdkafka's own functions for tests.

They are in rdkafka.h and rdkafka_mock.h, and Python's client does not offer them: the library that
it brings is opened once more, and the handle read from behind the object's head.
"""

import ctypes
from pathlib import Path

import confluent_kafka
from confluent_kafka import KafkaError

_HEAD_BYTES = object.__basicsize__
_PRODUCE = 0


def break_idempotence(producer: object) -> None:
    """Let ``producer`` believe that the broker missed one of its records."""
    break_it = _library().rd_kafka_test_fatal_error
    break_it.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p]
    number = KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert break_it(_handle(producer), number, b"broken by a test") == 0


def answer_as_known(producer: object) -> None:
    """Let the mock broker of ``producer`` say of the next record that it has it already."""
    library = _library()
    mock_of, answer_with = (
        library.rd_kafka_handle_mock_cluster,
        library.rd_kafka_mock_push_request_errors,
    )
    mock_of.argtypes, mock_of.restype = [ctypes.c_void_p], ctypes.c_void_p
    answer_with.argtypes = [ctypes.c_void_p, ctypes.c_int16, ctypes.c_size_t, ctypes.c_int]
    answer_with(mock_of(_handle(producer)), _PRODUCE, 1, KafkaError.DUPLICATE_SEQUENCE_NUMBER)


def _library() -> ctypes.CDLL:
    site_packages = Path(confluent_kafka.__file__).parents[1]
    (library,) = site_packages.glob("confluent_kafka.libs/librdkafka*")
    return ctypes.CDLL(str(library))


def _handle(producer: object) -> ctypes.c_void_p:
    return ctypes.c_void_p.from_address(id(producer) + _HEAD_BYTES)
