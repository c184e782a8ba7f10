"""Which events came within the window: by digest, in segments, of which each batch adds one.

Short segments are joined, and once an eighth of the window is over, all of it is: so a batch reads
little more where more is held, and writes little of that again. The first 32 bits of the digests
tell nearly all events that never came; whole digests are read of a segment that may have one.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pyspark.sql.streaming import stateful_processor as stateful

from glue_jobs.deduplicate.bundles import DIGEST, without_repeats

PERIODS: Final = 8
"""Of a window. What came in one is forgotten together: no later than one after the window."""

_SHORTER: Final = 2
_PREFIX_BITS: Final = 32

type Digests = NDArray[np.void]
"""Of ``DIGEST``; a segment's are in order, each once."""


class Segment(NamedTuple):
    """What first came in one batch, or in several that follow each other."""

    began_ms: int
    last_ms: int
    prefixes: NDArray[np.uint32]


class SeenEvents:
    """Those of one bucket. ``prefixes`` and ``digests`` are by when a segment began."""

    def __init__(
        self, prefixes: stateful.MapState, digests: stateful.MapState, *, window_ms: int
    ) -> None:
        self._prefixes, self._digests = prefixes, digests
        self._window_ms, self._period_ms = window_ms, window_ms // PERIODS

    def new_among(self, digests: Digests, now_ms: int) -> NDArray[np.bool_]:
        """Which came neither within the window nor before in ``digests``; remembers them."""
        order = np.lexsort((digests["low"], digests["high"]))
        ordered = digests[order]
        is_first = np.ones(len(order), np.bool_)
        is_first[1:] = ordered[1:] != ordered[:-1]
        order, once = order[is_first], ordered[is_first]
        segments, is_seen = self._held(now_ms), np.zeros(len(once), np.bool_)
        prefixes = _prefixes(once)
        for segment in segments:
            may_be = _are_in(segment.prefixes, segment.prefixes, prefixes, prefixes)
            if may_be.any():  # of two in it with the same 64 bits the second is not found
                held, wanted = self._of(segment), once[may_be]
                is_seen[may_be] |= _are_in(held["high"], held, wanted["high"], wanted)
        if not is_seen.all():
            self._add(once[~is_seen], segments, now_ms)
        is_new = np.zeros(len(digests), np.bool_)
        is_new[order[~is_seen]] = True
        return is_new

    def _held(self, now_ms: int) -> list[Segment]:
        """All that the window has not left behind, in order; the others are removed."""
        segments = list[Segment]()
        for (began_ms,), (last_ms, prefixes) in sorted(self._prefixes.iterator()):
            if last_ms + self._window_ms < now_ms:
                self._remove(began_ms)
            else:
                segments.append(Segment(began_ms, last_ms, np.frombuffer(prefixes, np.uint32)))
        return segments

    def _add(self, new: Digests, segments: Sequence[Segment], now_ms: int) -> None:
        began_ms = max(now_ms, segments[-1].began_ms + 1) if segments else now_ms
        latest = [one for one in segments if self._is_of_a_period(one, segments[-1].began_ms)]
        if latest and not self._is_of_a_period(latest[-1], began_ms):
            if len(latest) > 1:
                self._write(latest[0].began_ms, latest[-1].last_ms, latest, [])
            latest = []
        joined, size = list[Segment](), len(new)
        while latest and len(latest[-1].prefixes) <= _SHORTER * size:
            joined.append(latest.pop())
            size += len(joined[-1].prefixes)
        began_ms = joined[-1].began_ms if joined else began_ms
        self._write(began_ms, now_ms, joined, [new])

    def _is_of_a_period(self, segment: Segment, at_ms: int) -> bool:
        return segment.began_ms // self._period_ms == at_ms // self._period_ms

    def _write(
        self, began_ms: int, last_ms: int, joined: Sequence[Segment], more: Sequence[Digests]
    ) -> None:
        """Write one segment in place of others."""
        digests = np.concatenate([*map(self._of, joined), *more])
        digests = digests[np.lexsort((digests["low"], digests["high"]))]
        for one in joined:
            self._remove(one.began_ms)
        self._digests.updateValue((began_ms,), (digests.tobytes(),))
        self._prefixes.updateValue((began_ms,), (last_ms, _prefixes(digests).tobytes()))

    def _of(self, segment: Segment) -> Digests:
        (digests,) = self._digests.getValue((segment.began_ms,)) or (b"",)
        return np.frombuffer(digests, DIGEST)

    def _remove(self, began_ms: int) -> None:
        self._prefixes.removeKey((began_ms,))
        self._digests.removeKey((began_ms,))


class LeaveOutRepeats(stateful.StatefulProcessor):
    """From a bucket's bundles to bundles of what is new, by what is kept between batches."""

    def __init__(self, window_ms: int) -> None:
        self._window_ms = window_ms

    def init(self, handle: stateful.StatefulProcessorHandle) -> None:
        self._seen = SeenEvents(
            handle.getMapState("prefixes", "began_ms long", "last_ms long, prefixes binary"),
            handle.getMapState("digests", "began_ms long", "digests binary"),
            window_ms=self._window_ms,
        )

    def handleInputRows(  # noqa: N802 - PySpark's name
        self,
        key: object,
        rows: Iterator[pd.DataFrame],
        timerValues: stateful.TimerValues,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        now_ms = timerValues.getCurrentProcessingTimeInMs()
        for bundles in rows:  # each of some MB, however large the batch is
            digests = [np.frombuffer(one, DIGEST) for one in bundles["digests"]]
            is_new = self._seen.new_among(np.concatenate(digests), now_ms)
            ends = np.cumsum([*map(len, digests)])[:-1]
            parts = zip(bundles["records"], np.split(is_new, ends), strict=True)
            kept = [without_repeats(records, part) for records, part in parts if part.any()]
            yield pd.DataFrame({"records": kept})


def _prefixes(digests: Digests) -> NDArray[np.uint32]:
    return (digests["high"] >> _PREFIX_BITS).astype(np.uint32)


def _are_in(keys: Any, held: Any, wanted_keys: Any, wanted: Any) -> NDArray[np.bool_]:
    """Which are in ``held``, which is in order of its ``keys``, and not empty."""
    place = np.minimum(np.searchsorted(keys, wanted_keys), len(keys) - 1)
    return np.asarray(held[place] == wanted)
