"""A simulated device with its key, the messages that it sends, and the answers that it saw."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from random import Random
from typing import Any, Final, Self

from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, derive_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from clients.device_api import UPLOADED, DeviceKey
from clients.devices.registry import DeviceStatus, RegisteredDevice
from fleetlane.events.errors import ParkedReason
from fleetlane.events.lanes import Lane
from operations.ledger.message_results import Receipt

ACCEPTED: Final = 202
_P256_EVERY: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What should become of a message: a number of events, or parked, or refused with a status."""

    events: int | None = None
    parked: ParkedReason | None = None
    refused_status: int | None = None
    lane: Lane = Lane.STANDARD


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """A message that a device is about to send, and what it will go through.

    ``lost_answers`` is how many 202s get lost on their way back, so that it is sent once more for
    each; ``repeats`` how often it is sent again though it was answered. ``end_millis`` is when
    the data inside ends. ``is_upload``: it goes to S3 by a form. ``is_herd``: sent at the moment
    at which all of the herd send.
    """

    stream: str
    body: bytes
    content_type: str
    expected: Expected
    is_fast: bool = False
    is_upload: bool = False
    is_herd: bool = False
    idempotency_key: str | None = None
    end_millis: int | None = None
    lost_answers: int = 0
    repeats: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer. ``status`` is ``None`` where none came, ``is_seen`` false where it got lost.

    ``landed`` is where the message is, as the receipt says. S3 knows of no ``lane``.
    """

    status: int | None
    raw_id: str | None = None
    lane: str | None = None
    landed: str | None = None
    is_seen: bool = True

    @classmethod
    def with_receipt(cls, status: int, receipt: Mapping[str, Any]) -> Self:
        return cls(
            status=status, raw_id=receipt["id"], lane=receipt.get("lane"), landed=receipt["landed"]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SentMessage:
    """A message that was sent, with every answer to it, in order. ``sha256`` is of its body."""

    device_id: str
    stream: str
    sha256: str
    expected: Expected
    answers: tuple[Answer, ...]

    @classmethod
    def of(cls, device_id: str, message: Outgoing, answers: Iterable[Answer]) -> Self:
        return cls(
            device_id=device_id,
            stream=message.stream,
            sha256=sha256(message.body).hexdigest(),
            expected=message.expected,
            answers=tuple(answers),
        )

    @property
    def final(self) -> Answer:
        return self.answers[-1]

    def receipts(self) -> Iterator[Receipt]:
        """A receipt for each 202, or 204 of S3's, that the device saw."""
        events, parked = self.expected.events, self.expected.parked
        for one in self.answers:
            if one.is_seen and one.raw_id is not None:
                yield Receipt(raw_id=one.raw_id, sha256=self.sha256, events=events, parked=parked)

    def surprise(self) -> str | None:
        """How the last answer differs from what was expected; ``None`` if it does not."""
        refused = self.expected.refused_status
        wanted = (ACCEPTED, UPLOADED) if refused is None else (refused,)
        sender = f"{self.device_id} to {self.stream}"
        if self.final.status not in wanted:
            return f"{sender}: answered {self.final.status or 'nothing'}, not {wanted[0]}"
        if self.final.status == ACCEPTED and self.final.lane != self.expected.lane:
            return f"{sender}: landed in lane {self.final.lane}, not {self.expected.lane}"
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedDevice:
    """A device. A ``status`` of ``None``: the registry does not know it.

    ``gateway_id`` is the device that speaks for it, if any.
    """

    device_id: str
    device_type: str
    firmware: str
    status: DeviceStatus | None
    key: DeviceKey
    gateway_id: str | None = None

    def registration(self, *, registered_ms: int) -> RegisteredDevice | None:
        """Its item in the registry, if it is to have one."""
        if self.status is None:
            return None
        return RegisteredDevice(
            device_id=self.device_id,
            device_type=self.device_type,
            status=self.status,
            keys=(self.key.public_jwk,),
            gateway_id=self.gateway_id,
            registered_ms=registered_ms,
        )


def signing_key(number: int, random: Random) -> DeviceKey:
    """The key of device ``number``: Ed25519; of one in ten, P-256."""
    if number % _P256_EVERY == 0:
        return DeviceKey.of(derive_private_key(1 + random.getrandbits(255), SECP256R1()))
    return DeviceKey.of(Ed25519PrivateKey.from_private_bytes(random.randbytes(32)))
