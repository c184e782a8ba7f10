"""Payloads by reference: where they wait, and where they go when their message is parked."""

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Protocol

from clients.s3.payload_bucket import PayloadUnavailableError, parked_key
from fleetlane.events.envelope import Message, PayloadReference
from fleetlane.events.lanes import BUFFER_BYTES_MAX, PAYLOAD_BYTES_MAX

FETCHES_MAX: Final = 8
MESSAGES_AHEAD_MAX: Final = 1_000
COPIES_FAILED_MAX: Final = 3
COPIES_S_MAX: Final = 0.25
"""A task's part of a batch waits for so many copies that fail, and so long for all, as what has no
parser is at nobody's charge. After that none is tried: messages go on to the slow lane."""


class Bucket(Protocol):
    """A bucket of payloads; ``clients.s3.payload_bucket.PayloadBucket`` is one."""

    def get(self, reference: PayloadReference, *, body_bytes: int, bytes_max: int) -> bytes: ...
    def put(self, key: str, body: bytes, sha256_hex: str) -> PayloadReference: ...
    def copy_to(self, other_bucket: str, key: str, parked_key: str) -> None: ...
    def has(self, key: str) -> bool: ...


class Payloads:
    """Two buckets: what landed has a TTL, what is parked is kept for ever."""

    def __init__(
        self,
        *,
        landed: Bucket,
        parked: Bucket,
        parked_bucket: str,
        copies_s_max: float = COPIES_S_MAX,
    ) -> None:
        self._landed, self._parked, self._parked_bucket = landed, parked, parked_bucket
        self._copies_s_max = copies_s_max
        self.begin_batch()

    def begin_batch(self) -> None:
        """Try copies again."""
        self._copies_failed, self._copied_s = 0, 0.0

    def fetched(self, reference: PayloadReference, *, body_bytes: int) -> bytes:
        """Fetch a body and check its size and digest; raises the errors of ``PayloadBucket``.

        What cannot be reached is asked for once more, beside the tries of the client itself: that
        does not repeat a body which broke off. May be called by several threads at once.
        """
        bucket = self._bucket_of(reference.key)
        try:
            return bucket.get(reference, body_bytes=body_bytes, bytes_max=BUFFER_BYTES_MAX)
        except PayloadUnavailableError:
            return bucket.get(reference, body_bytes=body_bytes, bytes_max=BUFFER_BYTES_MAX)

    def answers(self, key: str) -> bool:
        """Whether S3 answers at all, by asking it for the name of a payload, not for its bytes."""
        with suppress(PayloadUnavailableError):
            self._bucket_of(key).has(key)
            return True
        return False

    def kept(self, reference: PayloadReference) -> PayloadReference:
        """Copy a payload to where nothing expires, before its message is parked.

        Raises:
            PayloadMissingError: There is nothing to copy.
            PayloadUnavailableError: S3 did not confirm the copy.
        """
        key = parked_key(reference.key)
        if key == reference.key:
            return reference
        with self._copying(reference.key):
            self._landed.copy_to(self._parked_bucket, reference.key, key)
        return PayloadReference(key=key, sha256=reference.sha256)

    def stored(self, body: bytes, *, name: str) -> PayloadReference:
        """Keep for ever what no parked record could hold; raises ``PayloadUnavailableError``.

        By ``name`` and digest: a topic that is made anew has the same positions once more.
        """
        digest = sha256(body).hexdigest()
        key = parked_key(f"{name}/{digest}")
        with self._copying(key):
            return self._parked.put(key, body, digest)

    @contextmanager
    def _copying(self, key: str) -> Iterator[None]:
        """A failed copy takes S3's time-out: not for each message of a batch. For one thread."""
        if self._copies_failed >= COPIES_FAILED_MAX or self._copied_s > self._copies_s_max:
            problem = "other copies failed in this batch, or took its time"
            raise PayloadUnavailableError(key, problem)
        began_s = time.monotonic()
        try:
            yield
        except PayloadUnavailableError:
            self._copies_failed += 1
            raise
        finally:
            self._copied_s += time.monotonic() - began_s

    def _bucket_of(self, key: str) -> Bucket:
        return self._parked if key == parked_key(key) else self._landed


@dataclass(frozen=True, slots=True, kw_only=True)
class Awaited[T]:
    """An item whose message's body is fetched, or being fetched."""

    it: T
    message: Message | None
    fetch: Future[bytes] | None

    def body(self) -> bytes:
        """The body; blocks until it is there, and raises what fetching it raised."""
        if self.fetch is not None:
            return self.fetch.result()
        return b"" if self.message is None else self.message.body or b""


class FetchAhead:
    """Fetches several bodies at once, and gives what they belong to in order.

    Bodies not taken yet have at most ``bytes_max`` in all; one that is larger is fetched alone.
    """

    def __init__(
        self, fetched: Callable[..., bytes], *, bytes_max: int = PAYLOAD_BYTES_MAX
    ) -> None:
        """``fetched`` is called by several threads at once, as ``Payloads.fetched`` may be."""
        self._fetched, self._bytes_max = fetched, bytes_max
        self._threads = ThreadPoolExecutor(FETCHES_MAX, thread_name_prefix="fetch")

    def in_order[T](self, items: Iterable[tuple[T, Message | None]]) -> Generator[Awaited[T]]:
        """Give each item once; a body counts as taken when the next item is asked for.

        A caller that stops early leaves nothing behind but fetches that have begun.
        """
        ahead, held_bytes = deque[Awaited[T]](), 0
        try:
            for it, message in items:
                held_bytes += _fetched_bytes(message)
                while ahead and (held_bytes > self._bytes_max or len(ahead) >= MESSAGES_AHEAD_MAX):
                    first = ahead.popleft()
                    yield first
                    held_bytes -= _fetched_bytes(first.message)
                ahead.append(self._begun(it, message))
            while ahead:
                yield ahead.popleft()
        finally:
            for awaited in ahead:
                if awaited.fetch is not None:
                    awaited.fetch.cancel()

    def _begun[T](self, it: T, message: Message | None) -> Awaited[T]:
        fetch = None
        if message is not None and message.reference is not None:
            size = message.body_bytes
            fetch = self._threads.submit(self._fetched, message.reference, body_bytes=size)
        return Awaited(it=it, message=message, fetch=fetch)


def _fetched_bytes(message: Message | None) -> int:
    return 0 if message is None or message.reference is None else message.body_bytes
