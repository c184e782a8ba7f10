"""Answering a repeated Idempotency-Key with its first receipt, where its flow asks for that.

A convenience, never a guard: while the store of receipts fails, a repeat lands once more.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from clients.circuit_breaker import CircuitBreaker, Turn
from clients.devices.receipts import KeptReceipt, ReceiptsUnavailableError, receipt_key
from fleetlane.events.flows.flow import UploadRule
from lambdas.ingest.service import InboundMessage, Landed, Notice, Receipt


class ReceiptStore(Protocol):
    """Where first receipts are kept. Both raise ``ReceiptsUnavailableError``, and soon."""

    def find_all(self, keys: Sequence[str], *, now_s: int) -> Mapping[str, KeptReceipt]: ...
    def keep_all(self, receipts: Mapping[str, KeptReceipt]) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """First receipts, found and kept. After a failure their store is left alone for a while.

    May be used by several threads. ``store`` is asked for when it is first needed;
    ``on_unavailable`` is called at each failure.
    """

    store: Callable[[], ReceiptStore]
    on_unavailable: Callable[[ReceiptsUnavailableError], None]
    breaker: CircuitBreaker
    monotonic: Callable[[], float] = time.monotonic

    def of(self, keys: Sequence[str], *, now_ms: int) -> Mapping[str, KeptReceipt]:
        """Find first receipts, by ``repeat_key``; none if that fails."""
        return self._asked(lambda store: store.find_all(keys, now_s=now_ms // 1000)) or {}

    def remember(self, receipts: Mapping[str, KeptReceipt]) -> None:
        """Keep receipts of durable messages by ``repeat_key``. If that fails, nothing else does."""
        if receipts:
            self._asked(lambda store: store.keep_all(receipts))

    def _asked[T](self, call: Callable[[ReceiptStore], T]) -> T | None:
        """What the store answers; ``None`` where it fails, or is left alone."""
        if self.breaker.turn(self._now_ms()) is Turn.LEAVE:
            return None
        try:
            answer = call(self.store())
        except ReceiptsUnavailableError as problem:
            self.breaker.failed(self._now_ms())
            self.on_unavailable(problem)
            return None
        self.breaker.succeeded()
        return answer

    def _now_ms(self) -> int:
        return int(self.monotonic() * 1000)


def repeat_key(inbound: InboundMessage, rule: UploadRule) -> str:
    """Under which a message's first receipt is kept; empty where it is not to be."""
    if rule.repeats != "answer" or inbound.idempotency_key is None:
        return ""
    # One that was erased and registered anew is another device.
    device = f"{inbound.device_id}@{inbound.registered_ms}"
    return receipt_key(device, inbound.stream, inbound.idempotency_key)


def first_receipt(kept: KeptReceipt) -> Receipt:
    return Receipt(
        id=kept.raw_id, lane=kept.lane, landed=Landed(kept.landed), notices=(Notice.REPEATED,)
    )


def kept_receipt(inbound: InboundMessage, receipt: Receipt, *, remember_s: int) -> KeptReceipt:
    return KeptReceipt(
        raw_id=receipt.id,
        lane=receipt.lane,
        landed=receipt.landed.value,
        sha256=inbound.body_sha256.hex(),
        expires_s=inbound.arrival_millis // 1000 + remember_s,
    )
