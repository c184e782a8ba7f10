"""What is still to be done of a run: pieces for the current child, and second tries."""

from dataclasses import dataclass
from typing import Protocol

from fleetlane.parsers.sandbox.verdicts import Attempt
from fleetlane.parsers.sandbox.worker.chunks import Chunk
from fleetlane.parsers.sandbox.worker.parser_child import Death, ParserChild


class Children(Protocol):
    """Where children come from. ``Sandbox`` is one."""

    def current(self) -> ParserChild:
        """The child that goes on from run to run; raises ``ParserNotLoadedError``."""

    def end_current(self) -> Death: ...

    def fresh(self, *, is_blamed: bool) -> ParserChild | None:
        """A child for the caller alone; ``None`` where the parser has used up too many.

        ``is_blamed``: the one before it died. Others had failures that may be the child's own.
        """

    def may_respawn(self) -> bool: ...


@dataclass(slots=True, kw_only=True)
class Piece:
    """Messages of a chunk, by their places in it, that the current child is to parse."""

    chunk: Chunk
    first: int
    count: int

    @property
    def places(self) -> range:
        return range(self.first, self.first + self.count)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """Messages to try once more, each with what is to be said of it if it cannot be tried.

    ``is_blamed``: a child seems to have died of it, which it may have been framed for.
    """

    chunk: Chunk
    failed: dict[int, Attempt]
    is_blamed: bool = False
