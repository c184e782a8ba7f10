"""Breaks a producer as a broker sometimes does, by librdkafka's own function for tests.

It is done by ``rd_kafka_test_fatal_error`` (rdkafka.h), which Python's client does not offer: the
library that it brings is opened once more, and the handle read from behind the object's head.
"""

import ctypes
from pathlib import Path

import confluent_kafka
from confluent_kafka import KafkaError

_HEAD_BYTES = object.__basicsize__


def break_idempotence(producer: object) -> None:
    """Let ``producer`` believe that the broker missed one of its records."""
    site_packages = Path(confluent_kafka.__file__).parents[1]
    (library,) = site_packages.glob("confluent_kafka.libs/librdkafka*")
    break_it = ctypes.CDLL(str(library)).rd_kafka_test_fatal_error
    break_it.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p]
    handle = ctypes.c_void_p.from_address(id(producer) + _HEAD_BYTES)
    assert break_it(handle, KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, b"broken by a test") == 0
