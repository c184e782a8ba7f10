"""A few devices that send all the time, as firmware must, and write down every answer."""

import secrets
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Self

import httpx
import orjson

from fleetlane.events.lanes import INLINE_BYTES_MAX
from local.platform import Platform
from operations.ledger.message_results import Receipt
from tests.e2e.devices import ACCEPTED, Device, receipt_from

_TRY_AGAIN_S: Final = 0.2
_ANSWER_TIMEOUT_S: Final = 30.0
_LOOK_AGAIN_S: Final = 0.05


class Kind(StrEnum):
    """What is sent: small bodies; large ones, through S3; small ones, each by a new token."""

    SMALL = "small"
    LARGE = "large"
    NEWCOMER = "newcomer"


_PAUSE_S: Final = {Kind.SMALL: 0.04, Kind.LARGE: 1.0, Kind.NEWCOMER: 0.2}
_NORMAL: Final = {Kind.SMALL: "kafka", Kind.LARGE: "object", Kind.NEWCOMER: "kafka"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request and its answer. ``status`` is ``None`` where none came."""

    kind: Kind
    began_s: float
    seconds: float
    status: int | None
    landed: str | None = None
    retry_after: str | None = None

    @property
    def ended_s(self) -> float:
        return self.began_s + self.seconds

    @property
    def is_normal(self) -> bool:
        """Whether it landed where its like lands when nothing fails."""
        return self.landed == _NORMAL[self.kind]


class Load:
    """Sends while in its block; each message until it is accepted, with one key."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._over = threading.Event()
        self.requests: list[Request] = []
        self.receipts: list[Receipt] = []
        self.ids_of_messages: dict[str, set[str]] = {}
        kinds = (Kind.SMALL, Kind.SMALL, Kind.LARGE, Kind.NEWCOMER)
        self._threads = [threading.Thread(target=self._send, args=(kind,)) for kind in kinds]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def since(self, from_s: float) -> list[Request]:
        """The requests that began from then on, and have their answers."""
        return [one for one in list(self.requests) if from_s <= one.began_s]

    def normal_again_s(self, since_s: float, *, within_s: float) -> float | None:
        """Wait until every kind lands normally; says how long that took since then."""
        while time.monotonic() < since_s + within_s:
            first = dict[Kind, float]()
            for one in self.since(since_s):
                if one.is_normal:
                    first.setdefault(one.kind, one.ended_s - since_s)
            if len(first) == len(Kind):
                return max(first.values())
            time.sleep(_LOOK_AGAIN_S)
        return None

    def _send(self, kind: Kind) -> None:
        device = Device.registered(self._platform)
        token = device.token()
        with httpx.Client(timeout=_ANSWER_TIMEOUT_S, trust_env=False) as client:
            for number, body in enumerate(_bodies(kind)):
                key = f"{device.device_id}-{number}"
                while not self._accepted(client, kind, device, token, key, body):
                    time.sleep(_TRY_AGAIN_S)
                if self._over.wait(_PAUSE_S[kind]):
                    return

    def _accepted(
        self, client: httpx.Client, kind: Kind, device: Device, token: str, key: str, body: bytes
    ) -> bool:
        headers = {
            "Authorization": f"Bearer {_new(device) if kind is Kind.NEWCOMER else token}",
            "Idempotency-Key": key,
        }
        stream = "diagnostics" if kind is Kind.LARGE else "gps"
        url, began_s = f"{device.api}/v1/streams/{stream}", time.monotonic()
        try:
            answer = client.post(url, content=body, headers=headers)
        except httpx.HTTPError:
            seconds = time.monotonic() - began_s
            self.requests.append(Request(kind=kind, began_s=began_s, seconds=seconds, status=None))
            return False
        is_accepted = answer.status_code == ACCEPTED
        self.requests.append(
            Request(
                kind=kind,
                began_s=began_s,
                seconds=time.monotonic() - began_s,
                status=answer.status_code,
                landed=answer.json()["landed"] if is_accepted else None,
                retry_after=answer.headers.get("Retry-After"),
            )
        )
        if is_accepted:
            receipt = receipt_from(answer, body)
            self.receipts.append(receipt)
            self.ids_of_messages.setdefault(key, set()).add(receipt.raw_id)
        return is_accepted


def _new(device: Device) -> str:
    """A token that no authorizer has seen."""
    lifetime_s = 3_600 + secrets.randbelow(50_000)
    return device.key.token(device.device_id, now_s=int(time.time()), lifetime_s=lifetime_s)


def _bodies(kind: Kind) -> Iterator[bytes]:
    number = 0
    while True:
        number += 1
        if kind is Kind.LARGE:
            filling = "x" * INLINE_BYTES_MAX
            yield orjson.dumps({"boot_id": "b", "entries": [{"at_ms": number}, {"x": filling}]})
        else:
            at = "2026-11-03T14:05:00Z"
            yield orjson.dumps({"at": at, "lat": number / 100_000, "lon": 8.54})
