"""What a run of respool did, and what it left."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from clients.s3.spool import SpoolUnreadableError, Waiting


@dataclass(slots=True, kw_only=True)
class Report:
    """What a run did. ``oldest_since_ms`` is since when the oldest object waits that is left.

    ``unreadable`` objects are left where they are, and told apart. ``stuck`` are those that S3 does
    not give, or of which Kafka does not take all, with the reason: the others went on.
    ``refused`` counts records that Kafka refuses, such as for a topic that does not exist.
    ``problem`` is what ended the run too soon.
    """

    objects: int = 0
    records: int = 0
    oldest_since_ms: int | None = None
    unreadable: list[SpoolUnreadableError] = field(default_factory=list)
    stuck: dict[str, str] = field(default_factory=dict)
    refused: int = 0
    problem: str | None = None

    def left(self, some: Iterable[Waiting]) -> None:
        """Take note of objects that stay."""
        times_ms = [one.since_ms for one in some]
        if self.oldest_since_ms is not None:
            times_ms.append(self.oldest_since_ms)
        self.oldest_since_ms = min(times_ms, default=None)
