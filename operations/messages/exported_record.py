"""A stored record made whole, so that a file of it needs no bucket."""

from dataclasses import replace
from typing import Final

from clients.kafka.reader import Record
from operations.messages.kept_payloads import KeptPayloads
from operations.messages.parked import message_in

_OF_REFERENCES: Final = frozenset({"ce_dataref", "ce_datasha256"})


def exported_record(record: Record, payloads: KeptPayloads) -> Record:
    """The record with its body by value, fetched if need be.

    Raises:
        PayloadMissingError: The payload is gone.
        PayloadCorruptError, PayloadTooLargeError, PayloadUnavailableError: It cannot be had.
    """
    message = message_in(record)
    if message is None or message.reference is None:
        return record
    headers = (one for one in record.headers if one[0].lower() not in _OF_REFERENCES)
    return replace(record, value=payloads.body_of(message), headers=tuple(headers))
