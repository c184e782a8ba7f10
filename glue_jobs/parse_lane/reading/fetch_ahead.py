"""Bodies of messages to come, fetched while earlier messages are parsed."""

from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, Protocol

from fleetlane.events.envelope import Message, PayloadReference
from fleetlane.events.lanes import PAYLOAD_BYTES_MAX

FETCHED_BYTES_MAX: Final = PAYLOAD_BYTES_MAX
FETCHES_MAX: Final = 8
MESSAGES_AHEAD_MAX: Final = 1_000


class Fetches(Protocol):
    """Where bodies are fetched, by several threads at once; ``Payloads`` is one."""

    def fetched(self, reference: PayloadReference, *, body_bytes: int) -> bytes: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Awaited[T]:
    """An item whose message's body is fetched, or being fetched."""

    it: T
    message: Message | None
    fetch: Future[bytes] | None

    @property
    def held_bytes(self) -> int:
        return 0 if self.fetch is None or self.message is None else self.message.body_bytes

    def body(self) -> bytes:
        """The body; blocks until it is there, and raises what fetching it raised."""
        if self.fetch is not None:
            return self.fetch.result()
        return b"" if self.message is None else self.message.body or b""


class FetchAhead:
    """Fetches several bodies at once, and gives what they belong to in order.

    Bodies that are not taken yet have at most ``bytes_max`` in all; one that is larger is fetched
    alone.
    """

    def __init__(self, payloads: Fetches, *, bytes_max: int = FETCHED_BYTES_MAX) -> None:
        self._payloads, self._bytes_max = payloads, bytes_max
        self._threads = ThreadPoolExecutor(FETCHES_MAX, thread_name_prefix="fetch")

    def in_order[T](self, items: Iterable[tuple[T, Message | None]]) -> Generator[Awaited[T]]:
        """Give each item once; a body counts as taken when the next item is asked for.

        A caller that stops early leaves nothing behind but fetches that have begun.
        """
        ahead, held_bytes, coming = deque[Awaited[T]](), 0, iter(items)
        following = next(coming, None)
        try:
            while following is not None or ahead:
                while following is not None and self._has_room(following[1], ahead, held_bytes):
                    begun = self._begun(*following)
                    ahead.append(begun)
                    held_bytes += begun.held_bytes
                    following = next(coming, None)
                first = ahead.popleft()
                yield first
                held_bytes -= first.held_bytes
        finally:
            for awaited in ahead:
                if awaited.fetch is not None:
                    awaited.fetch.cancel()

    def _has_room[T](
        self, message: Message | None, ahead: deque[Awaited[T]], held_bytes: int
    ) -> bool:
        if not ahead:
            return True
        is_fetched = message is not None and message.reference is not None
        more_bytes = message.body_bytes if message is not None and is_fetched else 0
        return len(ahead) < MESSAGES_AHEAD_MAX and held_bytes + more_bytes <= self._bytes_max

    def _begun[T](self, it: T, message: Message | None) -> Awaited[T]:
        fetch = None
        if message is not None and message.reference is not None:
            fetch = self._threads.submit(
                self._payloads.fetched, message.reference, body_bytes=message.body_bytes
            )
        return Awaited(it=it, message=message, fetch=fetch)
