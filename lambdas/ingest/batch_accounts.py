"""What a batch adds to the metrics: a line a lane and a line a tag, however many entries."""

from collections import Counter
from collections.abc import Sequence

from fleetlane.events.errors import ProblemTag
from fleetlane.events.lanes import Lane
from lambdas.http.problems import Problem
from lambdas.ingest.metrics import count_accepted, count_refused
from lambdas.ingest.service import Receipt


def count_batch(outcomes: Sequence[Receipt | Problem], *, body_bytes: Sequence[int]) -> None:
    """Count a batch; ``body_bytes`` are the sizes of the messages in its entries, in order."""
    messages, bytes_of, refused = Counter[Lane](), Counter[Lane](), Counter[ProblemTag]()
    for outcome, size_bytes in zip(outcomes, body_bytes, strict=True):
        if isinstance(outcome, Problem):
            refused[outcome.tag] += 1
        else:
            messages[outcome.lane] += 1
            bytes_of[outcome.lane] += size_bytes
    for lane, count in messages.items():
        count_accepted(lane, body_bytes=bytes_of[lane], messages=count)
    for tag, count in refused.items():
        count_refused(tag, messages=count)
