"""One writer at a time: a lease in S3, taken over only from who no longer renews it.

Nobody compares clocks: a lease is free once its object has stood unchanged for its whole length, by
the clock of who wants it. Its holder trusts it for two thirds of that, by its own.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import Final, Protocol

import msgspec

from clients.aws import S3Client
from clients.bucket_objects import BucketObjects
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.s3_keys import LEASES

_TRUSTED: Final = 2 / 3
_RENEWALS: Final = 6

_log = logging.getLogger(__name__)


class LeaseLostError(FleetlaneError):
    """The lease could not be renewed in time, or another has it: nothing may be written."""

    name: str
    holder: str
    sentence = "{holder} no longer holds the lease {name}"


class LeaseUnavailableError(FleetlaneError):
    """S3 does not answer. Trying again later may succeed."""

    name: str
    problem: str
    sentence = "the lease {name} cannot be reached: {problem}"


class LeaseState(msgspec.Struct, frozen=True, kw_only=True):
    """What the object says. ``token`` grows with each holder, ``beat`` with each renewal."""

    holder: str
    token: int
    beat: int
    is_free: bool = False


class LeasePlace(Protocol):
    """Where a lease is kept; ``LeaseObject`` is one. Both raise ``LeaseUnavailableError``."""

    @property
    def name(self) -> str: ...

    def read(self) -> tuple[LeaseState, str] | None:
        """What it says, and its version, which changes with every write."""

    def write(self, state: LeaseState, *, replacing: str | None) -> str | None:
        """Write over that version, or where there is none; give the new one.

        ``None`` if another was faster.
        """


class LeaseObject:
    """A lease as an object in a bucket. ``s3`` is a client whose maker bounded its waits."""

    def __init__(self, s3: S3Client, bucket: str, name: str) -> None:
        self.name = name
        self._objects = BucketObjects(
            s3, bucket, lambda _, problem: LeaseUnavailableError(name, problem)
        )
        self._key = f"{LEASES}{name}.json"

    def read(self) -> tuple[LeaseState, str] | None:
        return self._objects.read_version(self._key, LeaseState)

    def write(self, state: LeaseState, *, replacing: str | None) -> str | None:
        body = msgspec.json.encode(state)
        if version := self._objects.put_in_place_of(replacing, self._key, body):
            return version
        # A write whose answer was lost is refused when it is tried again, and was done.
        found, version = self.read() or (None, None)
        return version if found == state else None


class Lease:
    """One process's hold on a lease. ``take`` and ``renew`` are not for two threads at once."""

    def __init__(
        self,
        place: LeasePlace,
        *,
        holder: str,
        lease_s: float,
        clock_s: Callable[[], float] = time.monotonic,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        self._place, self._holder, self._lease_s = place, holder, lease_s
        self._clock_s, self._wait = clock_s, wait
        self._version: str | None = None
        self._state: LeaseState | None = None
        self._attempted: LeaseState | None = None
        self.waits = False  # whether ``take`` has found that it must wait
        self.released = threading.Event()
        self._trusted_until_s = self._unchanged_since_s = self._attempted_since_s = float("-inf")

    @property
    def renewed_every_s(self) -> float:
        return self._lease_s / _RENEWALS

    def take(self) -> int:
        """Take the lease as soon as it is free; gives its token. Blocks, if need be for ever."""
        while True:
            try:
                if (token := self._taken()) is not None:
                    self.waits = False
                    return token
            except LeaseUnavailableError as problem:
                _log.warning("%s", problem)
            self.waits = True
            self._wait(self.renewed_every_s)

    def renew(self) -> None:
        """Hold the lease for its whole length from now on.

        Raises:
            LeaseLostError: Another has taken it.
            LeaseUnavailableError: S3 does not answer; it may be tried again while ``check`` passes.
        """
        assert self._state is not None, "take comes first"
        state = msgspec.structs.replace(self._state, beat=self._state.beat + 1)
        if not self._wrote(state, replacing=self._version):
            self._trusted_until_s = float("-inf")
            raise LeaseLostError(self._place.name, self._holder)

    def check(self) -> None:
        """Raise ``LeaseLostError`` unless the lease is surely held at this moment."""
        if self._clock_s() >= self._trusted_until_s:
            raise LeaseLostError(self._place.name, self._holder)

    def release(self) -> None:
        """Let another take it at once: from now on nothing may be written."""
        self._trusted_until_s = float("-inf")
        self.released.set()
        try:
            if self._state is not None:
                free = msgspec.structs.replace(self._state, is_free=True)
                self._place.write(free, replacing=self._version)
        except LeaseUnavailableError as problem:
            _log.warning("%s", problem)  # who wants it waits, as for one that was killed

    def _taken(self) -> int | None:
        before, version = self._place.read() or (None, None)
        if before is not None and not before.is_free:
            now_s = self._clock_s()
            if version != self._version:
                _log.warning("waiting: %s holds the lease %s", before.holder, self._place.name)
                self._version, self._unchanged_since_s = version, now_s
            if now_s - self._unchanged_since_s < self._lease_s:
                return None
        token = 1 if before is None else before.token + 1
        self.released = threading.Event()
        begun = LeaseState(holder=self._holder, token=token, beat=0)
        return token if self._wrote(begun, replacing=version) else None

    def _wrote(self, state: LeaseState, *, replacing: str | None) -> bool:
        if state != self._attempted:  # of a try again it is not known which one S3 took
            self._attempted, self._attempted_since_s = state, self._clock_s()
        version = self._place.write(state, replacing=replacing)
        if version is None:
            return False
        self._version, self._state = version, state
        self._trusted_until_s = self._attempted_since_s + self._lease_s * _TRUSTED
        return True


def keep_renewed(lease: Lease) -> Callable[[], bool]:
    """Renew a lease that was taken, in a thread of its own, until it ends; returns at once.

    What it returns says whether it still does.
    """
    thread = threading.Thread(target=_renew, args=(lease, lease.released), daemon=True)
    thread.start()
    return thread.is_alive


def _renew(lease: Lease, released: threading.Event) -> None:
    while not released.wait(lease.renewed_every_s):
        try:
            lease.renew()
        except LeaseUnavailableError as problem:
            _log.warning("%s", problem)
        except LeaseLostError as problem:
            _log.error("%s", problem)
            return
