"""What comes before and after landing: rate limits, the flow, repeats, and the whole receipt."""

import hashlib
import time
from collections.abc import Callable, Sequence
from copy import replace
from dataclasses import dataclass
from typing import Final

import msgspec

from clients.devices.receipts import KeptReceipt
from clients.flows.store import CurrentFlows, FlowsUnavailableError
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.flows.flow import Flow, UploadRule
from fleetlane.events.lanes import INLINE_BYTES_MAX, Lane
from lambdas.http.rate_limiter import RateLimiter
from lambdas.ingest.repeats import Repeats, first_receipt, kept_receipt, repeat_key
from lambdas.ingest.service import ANSWER_S, InboundMessage, Ingest, Notice, Receipt, or_error

_NO_RULE: Final = UploadRule()
_DIGEST_BYTES: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    """Takes messages in, one or many, each for the receipt that its device is to see.

    A message's flow is looked up once, so that no message sees two versions. While the flows cannot
    be read, ``on_flows_unavailable`` is called for each message, which lands all the same, as one
    of a stream without a flow.
    """

    rate_limiter: RateLimiter
    flows: CurrentFlows
    ingest: Ingest
    repeats: Repeats
    on_flows_unavailable: Callable[[FlowsUnavailableError], None]

    def land(self, inbound: InboundMessage) -> Receipt:
        """Land a message, unless it is the repeat of one that has landed.

        Raises:
            RevokedDeviceError: Its device, or its gateway, may not send any more.
            TooManyMessagesError: Its device may send again later.
            FleetlaneError: It is not durable within ``ANSWER_S``, as ``Ingest.land_all`` has it.
        """
        arrival = self._arrival(inbound)
        (outcome,) = self._outcomes([arrival], time.monotonic() + ANSWER_S)
        if isinstance(outcome, FleetlaneError):
            raise outcome
        return outcome

    def land_all(
        self, inbound: Sequence[InboundMessage], *, until_s: float
    ) -> list[Receipt | FleetlaneError]:
        """Do so with many; for one that did not land, its error is returned.

        ``until_s``, by ``time.monotonic``, is when all of it must have landed.
        """
        arrivals = [or_error(self._arrival, one) for one in inbound]
        accepted = [one for one in arrivals if isinstance(one, _Arrival)]
        outcomes = iter(self._outcomes(accepted, until_s))
        return [next(outcomes) if isinstance(one, _Arrival) else one for one in arrivals]

    def _outcomes(
        self, arrivals: Sequence["_Arrival"], until_s: float
    ) -> list[Receipt | FleetlaneError]:
        keys = [one.key for one in arrivals if one.key]
        if keys:
            known = self.repeats.of(keys, now_ms=arrivals[0].inbound.arrival_millis)
            arrivals = [replace(one, kept=known.get(one.key)) for one in arrivals]
        new = [one for one in arrivals if not one.is_repeat]
        landed = self.ingest.land_all([(one.inbound, one.flow) for one in new], until_s=until_s)
        if keys:
            self._remember([*zip(new, landed, strict=True)])
        rest = iter(landed)
        outcomes = [one.first_receipt() or next(rest) for one in arrivals]
        return [
            outcome if isinstance(outcome, FleetlaneError) else one.completed(outcome)
            for one, outcome in zip(arrivals, outcomes, strict=True)
        ]

    def _remember(self, landed: Sequence[tuple["_Arrival", Receipt | FleetlaneError]]) -> None:
        """Of two messages with one key, the first stays known."""
        self.repeats.remember(
            {
                one.key: kept_receipt(one.inbound, outcome, remember_s=one.rule.remember_s)
                for one, outcome in reversed(landed)
                if one.key and one.kept is None and isinstance(outcome, Receipt)
            }
        )

    def _arrival(self, inbound: InboundMessage) -> "_Arrival":
        """Raises as the rate limiter does."""
        if self.rate_limiter.is_diverted(
            inbound.device_id,
            inbound.stream,
            now_ms=inbound.arrival_millis,
            via=inbound.via or "",
            body_bytes=len(inbound.body),
        ):
            inbound = replace(inbound, is_quarantined=True)
        try:
            flow = self.flows.current().by_stream.get(inbound.stream)
            lacks_flow = flow is None
        except FlowsUnavailableError as problem:
            self.on_flows_unavailable(problem)
            flow, lacks_flow = None, False  # it may have one
        rule = _NO_RULE if flow is None else flow.upload
        return _Arrival(
            inbound=inbound,
            flow=flow,
            lacks_flow=lacks_flow,
            rule=rule,
            key=repeat_key(inbound, rule),
        )


class _Arrival(msgspec.Struct, frozen=True, kw_only=True):
    """A message as it comes in. ``kept`` is the first receipt of its ``repeat_key``, if any."""

    inbound: InboundMessage
    flow: Flow | None
    lacks_flow: bool
    rule: UploadRule
    key: str
    kept: KeptReceipt | None = None

    @property
    def is_repeat(self) -> bool:
        """Whether the bytes are those that its key was first sent with."""
        return self.kept is not None and self.inbound.body_sha256.hex() == self.kept.sha256

    def first_receipt(self) -> Receipt | None:
        """What its first sending was answered with, if it is a repeat."""
        return first_receipt(self.kept) if self.kept is not None and self.is_repeat else None

    def completed(self, receipt: Receipt) -> Receipt:
        """The receipt with its notices, and with the time of the next upload."""
        inbound, flow, window_s = self.inbound, self.flow, self.rule.smear_s
        notices = list(receipt.notices)
        if self.kept is not None and not self.is_repeat:
            notices.append(Notice.KEY_REUSED)
        if inbound.asked is Lane.FAST and (flow is None or flow.lane is not Lane.FAST):
            notices.append(Notice.NOT_FAST)
        is_cut = flow is not None and flow.oversize == "truncate"
        if is_cut and len(inbound.body) > INLINE_BYTES_MAX:
            notices.append(Notice.TRUNCATED)
        if self.lacks_flow:
            notices.append(Notice.NO_FLOW)
        if not notices and window_s == 0:
            return receipt
        wait_s = next_upload_after_s(
            inbound.device_id, window_s=window_s, now_ms=inbound.arrival_millis
        )
        return replace(receipt, next_upload_after_s=wait_s, notices=tuple(notices))


def next_upload_after_s(device_id: str, *, window_s: int, now_ms: int) -> int:
    """In how many seconds a device should upload again; 0 is no wish.

    Upload jitter windows of ``window_s`` seconds follow each other from 1970 on. A device has one
    slot in each, by a hash of its id: always the same, and evenly spread over a fleet. The answer
    leads to the first slot that is at least half a window away, so that a device that comes a
    little early is not asked to come back at once.
    """
    if window_s < 1:
        return 0
    earliest_s = now_ms // 1000 + (window_s + 1) // 2
    wait_s = (slot_s(device_id, window_s=window_s) - earliest_s) % window_s
    return (window_s + 1) // 2 + wait_s


def slot_s(device_id: str, *, window_s: int) -> int:
    """The second of each window that is the device's: 0 to ``window_s`` - 1."""
    digest = hashlib.blake2b(device_id.encode(), digest_size=_DIGEST_BYTES).digest()
    return int.from_bytes(digest, "big") % window_s
