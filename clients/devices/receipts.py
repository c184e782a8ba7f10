"""The first receipt of each Idempotency-Key, kept for a while: a repeat can be answered with it."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from botocore.exceptions import BotoCoreError, ClientError

from clients.aws import Table
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.lanes import Lane
from fleetlane.events.names import hashed_id

BUDGET_S: Final = 0.5
"""Beyond this no further call is begun; one call has bounds of its own."""

_KEYS_A_READ_MAX: Final = 100
_ITEMS_A_WRITE_MAX: Final = 25


class ReceiptsUnavailableError(FleetlaneError):
    """DynamoDB does not answer in time. A repeat then lands once more, under the same id."""

    problem: str
    sentence = "the receipts cannot be reached: {problem}"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptReceipt:
    """What a key was first answered with. ``sha256`` (hex) is of the bytes that it was for."""

    raw_id: str
    lane: Lane
    landed: str
    sha256: str
    expires_s: int


def receipt_key(device_id: str, stream: str, idempotency_key: str) -> str:
    """Under which a receipt is kept; the device's own key cannot be read out of it."""
    return hashed_id((device_id.encode(), stream.encode(), idempotency_key.encode()))


class ReceiptStore:
    """Receipts in a table whose partition key is ``receipt_key`` and whose TTL is ``expires_s``.

    DynamoDB removes an item up to days after it has expired: what has is not found all the same.
    Both methods raise ``ReceiptsUnavailableError`` where it does not answer in time.
    """

    def __init__(self, table: Table, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Take a table whose client gives up soon, as ``clients.aws.hasty_config`` makes it."""
        self._table, self._monotonic = table, monotonic

    def find_all(self, keys: Sequence[str], *, now_s: int) -> Mapping[str, KeptReceipt]:
        """Look receipts up; those that DynamoDB defers are left out, as if they did not exist."""
        found: dict[str, KeptReceipt] = {}
        name = self._table.name
        for some in self._in_time(sorted(set(keys)), _KEYS_A_READ_MAX):
            wanted: Any = {name: {"Keys": [{"receipt_key": key} for key in some]}}
            try:
                answer: Any = self._table.meta.client.batch_get_item(RequestItems=wanted)
                for item in answer["Responses"][name]:
                    facts = {**item, "expires_s": int(item["expires_s"])}
                    found[item["receipt_key"]] = msgspec.convert(facts, KeptReceipt)
            except (BotoCoreError, ClientError, KeyError, ValueError) as problem:
                raise ReceiptsUnavailableError(repr(problem)) from problem
        return {key: kept for key, kept in found.items() if kept.expires_s > now_s}

    def keep_all(self, receipts: Mapping[str, KeptReceipt]) -> None:
        """Keep receipts by their keys, over what was there. What DynamoDB defers is dropped."""
        for some in self._in_time(sorted(receipts), _ITEMS_A_WRITE_MAX):
            items = ({"receipt_key": key, **msgspec.to_builtins(receipts[key])} for key in some)
            puts: Any = [{"PutRequest": {"Item": item}} for item in items]
            try:
                self._table.meta.client.batch_write_item(RequestItems={self._table.name: puts})
            except (BotoCoreError, ClientError) as problem:
                raise ReceiptsUnavailableError(repr(problem)) from problem

    def _in_time(self, keys: Sequence[str], size: int) -> Iterator[Sequence[str]]:
        until_s = self._monotonic() + BUDGET_S
        for start in range(0, len(keys), size):
            if self._monotonic() > until_s:
                raise ReceiptsUnavailableError(f"{BUDGET_S} s are over")
            yield keys[start : start + size]
