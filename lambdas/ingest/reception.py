"""What stands around landing: repeats are recognised, and a receipt says all that it should."""

import time
from collections.abc import Iterable, Sequence
from copy import replace
from dataclasses import dataclass
from typing import Final, Protocol

import msgspec

from clients.devices.receipts import KeptReceipt
from clients.flows.store import FlowsUnavailableError
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.flows.files import PublishedFlows
from fleetlane.events.flows.flow import Flow, UploadRule
from fleetlane.events.lanes import INLINE_BYTES_MAX, Lane
from lambdas.ingest.repeats import Remembered, Repeats, first_receipt, is_same, repeat_key
from lambdas.ingest.service import ANSWER_S, Notice, Receipt
from lambdas.ingest.upload_slots import next_upload_after_s
from lambdas.ingest.uploads import Upload

_NO_RULE: Final = UploadRule()


class Flows(Protocol):
    """Where the flows in force are asked for."""

    def current(self) -> PublishedFlows: ...


class Lander(Protocol):
    """Makes messages durable; ``lambdas.ingest.service.Ingest`` is one."""

    def land(self, upload: Upload) -> Receipt: ...

    def land_all(
        self, uploads: Sequence[Upload], *, until_s: float
    ) -> Sequence[Receipt | FleetlaneError]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Reception:
    """Takes messages in, one or many, each for the receipt that its device is to see."""

    flows: Flows
    lander: Lander
    repeats: Repeats

    def land(self, upload: Upload) -> Receipt:
        """Land a message, unless it is the repeat of one that has landed.

        Raises:
            FleetlaneError: As ``Ingest.land`` does.
        """
        arrival = self._arrival(upload)
        if not arrival.is_remembered:
            return arrival.told(self.lander.land(upload))
        (outcome,) = self._outcomes([arrival], time.monotonic() + ANSWER_S)
        if isinstance(outcome, FleetlaneError):
            raise outcome
        return outcome

    def land_all(
        self, uploads: Sequence[Upload], *, until_s: float
    ) -> list[Receipt | FleetlaneError]:
        """Do so with many; in the place of one that did not land stands its error.

        ``until_s``, by ``time.monotonic``, is when all of it must have landed.
        """
        return self._outcomes([self._arrival(one) for one in uploads], until_s)

    def _outcomes(
        self, arrivals: Sequence["_Arrival"], until_s: float
    ) -> list[Receipt | FleetlaneError]:
        arrivals = self._recognised(arrivals)
        new = [one for one in arrivals if not one.is_repeat]
        landed = self.lander.land_all([one.upload for one in new], until_s=until_s)
        self._remember(zip(new, landed, strict=True))
        rest = iter(landed)
        outcomes = [one.first_receipt() or next(rest) for one in arrivals]
        return [
            outcome if isinstance(outcome, FleetlaneError) else one.told(outcome)
            for one, outcome in zip(arrivals, outcomes, strict=True)
        ]

    def _recognised(self, arrivals: Sequence["_Arrival"]) -> Sequence["_Arrival"]:
        """The same, those with a key that was sent before with its first receipt."""
        asked = [one.upload for one in arrivals if one.is_remembered]
        known = self.repeats.of(asked)
        if not known:
            return arrivals
        return [
            replace(one, kept=known.get(repeat_key(one.upload))) if one.is_remembered else one
            for one in arrivals
        ]

    def _remember(self, landed: Iterable[tuple["_Arrival", Receipt | FleetlaneError]]) -> None:
        """Of two messages with one key, the first stays known."""
        self.repeats.remember(
            [
                Remembered(upload=one.upload, receipt=outcome, remember_s=one.rule.remember_s)
                for one, outcome in landed
                if one.is_remembered and one.kept is None and isinstance(outcome, Receipt)
            ]
        )

    def _arrival(self, upload: Upload) -> "_Arrival":
        try:
            flow = self.flows.current().by_stream.get(upload.stream)
        except FlowsUnavailableError:  # told of where it lands
            flow = None
        rule = _NO_RULE if flow is None else flow.upload
        is_remembered = rule.repeats == "answer" and upload.idempotency_key is not None
        return _Arrival(upload=upload, flow=flow, rule=rule, is_remembered=is_remembered)


class _Arrival(msgspec.Struct, frozen=True, kw_only=True):
    """A message as it comes in. ``kept`` is the first receipt of its key, if it has one."""

    upload: Upload
    flow: Flow | None
    rule: UploadRule
    is_remembered: bool
    kept: KeptReceipt | None = None

    @property
    def is_repeat(self) -> bool:
        return self.kept is not None and is_same(self.upload, self.kept)

    def first_receipt(self) -> Receipt | None:
        """What its first sending was answered with, if it is a repeat."""
        return first_receipt(self.kept) if self.kept is not None and self.is_repeat else None

    def told(self, receipt: Receipt) -> Receipt:
        """The receipt with all that the device should know."""
        upload, flow, smear_s = self.upload, self.flow, self.rule.smear_s
        notices = list(receipt.notices)
        if self.kept is not None and not self.is_repeat:
            notices.append(Notice.KEY_REUSED)
        if upload.asked is Lane.FAST and (flow is None or flow.lane is not Lane.FAST):
            notices.append(Notice.NOT_FAST)
        if flow is not None and flow.oversize == "truncate" and len(upload.body) > INLINE_BYTES_MAX:
            notices.append(Notice.TRUNCATED)
        if not notices and smear_s == 0:
            return receipt
        wait_s = next_upload_after_s(
            upload.device_id, smear_s=smear_s, now_ms=upload.arrival_millis
        )
        return replace(receipt, next_upload_after_s=wait_s, notices=tuple(notices))
