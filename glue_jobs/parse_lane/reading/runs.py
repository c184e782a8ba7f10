"""Messages that wait for their parser, gathered into runs of one flow and parser each."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from fleetlane.events.envelope import Message
from fleetlane.events.envelope_reading import message_from
from fleetlane.parsers.sandbox.canonical_records import BytesColumn
from fleetlane.parsers.sandbox.runs import Program, Run, envelope_of
from glue_jobs.parse_lane.parsers.choices import ChosenParser
from glue_jobs.parse_lane.reading.fast_path import FastPathMessages, Rows
from glue_jobs.parse_lane.reading.raw_batches import RawBatch, RawRecord, record_at

WAITING_BYTES_MAX: Final = 16 << 20


class WaitingMessage(NamedTuple):
    """A message, the record that it came as, and its body, fetched if need be, not inflated."""

    record: RawRecord
    message: Message
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingRun:
    """Messages that one child parses by the rules of one flow, in order.

    ``rows`` are theirs in the batch. ``slow`` are those of the slow path, by row.
    """

    chosen: ChosenParser
    batch: RawBatch
    fast: FastPathMessages
    rows: Rows
    slow: dict[int, WaitingMessage]

    @property
    def run(self) -> Run:
        return Run(
            program=self.chosen.program,
            assignment=self.chosen.assignment,
            envelopes=self._column(
                lambda: self.fast.envelopes, lambda one: envelope_of(one.message)
            ),
            bodies=self._column(lambda: self.batch.column("value"), lambda one: one.body),
            encodings=self._encodings(),
        )

    def at(self, place: int) -> WaitingMessage:
        """One message of the run, read now if it is of the fast path."""
        row = int(self.rows[place])
        if row in self.slow:
            return self.slow[row]
        record = record_at(self.batch, row)
        message = message_from(record.headers, record.value)
        return WaitingMessage(record, message, record.value or b"")

    def _column(
        self, fast: Callable[[], pa.Array], of_slow: Callable[[WaitingMessage], bytes]
    ) -> Sequence[bytes]:
        """Those of the fast path are asked for only where there are any: else they mean nothing."""
        if not self.slow:
            return _taken(fast(), self.rows)
        return [
            of_slow(self.slow[row]) if row in self.slow else fast()[row].as_py()
            for row in self.rows.tolist()
        ]

    def _encodings(self) -> dict[int, str]:
        """Those of compressed bodies, by place: none of the fast path is."""
        encodings = {row: one.message.body_encoding for row, one in self.slow.items()}
        places = enumerate(self.rows.tolist()) if any(encodings.values()) else ()
        return {place: name for place, row in places if (name := encodings.get(row))}


@dataclass(slots=True, kw_only=True)
class _Gathered:
    chosen: ChosenParser
    fast: list[Rows] = field(default_factory=list)
    slow: dict[int, WaitingMessage] = field(default_factory=dict)


class WaitingMessages:
    """Gathers a batch's messages; of the slow path at most as many as fit in memory."""

    def __init__(self, batch: RawBatch, fast: FastPathMessages) -> None:
        self._batch, self._fast = batch, fast
        self._runs: dict[tuple[Program, int, str | None], _Gathered] = {}
        self._taken_until = self._slow_bytes = 0

    @property
    def is_full(self) -> bool:
        return self._slow_bytes >= WAITING_BYTES_MAX

    def add_fast(self, rows: Rows, chosen: ChosenParser) -> None:
        self._run_of(chosen).fast.append(rows)

    def add(self, row: int, waiting: WaitingMessage, chosen: ChosenParser) -> None:
        self._run_of(chosen).slow[row] = waiting
        self._slow_bytes += len(waiting.body)

    def taken(self, until: int) -> Iterator[WaitingRun]:
        """Give the messages before row ``until`` that were not given yet, as runs in order."""
        begin, self._taken_until, self._slow_bytes = self._taken_until, until, 0
        for run in self._runs.values():
            slow, run.slow = run.slow, {}
            all_rows = np.concatenate([*run.fast, np.fromiter(slow, np.int64, len(slow))])
            rows = np.sort(all_rows[(all_rows >= begin) & (all_rows < until)])
            if len(rows):
                yield WaitingRun(
                    chosen=run.chosen, batch=self._batch, fast=self._fast, rows=rows, slow=slow
                )

    def _run_of(self, chosen: ChosenParser) -> _Gathered:
        # By the flow itself: two versions of it may choose the same program for a batch.
        key = (chosen.program, id(chosen.assignment.flow), chosen.instead_of)
        return self._runs.setdefault(key, _Gathered(chosen=chosen))


def _taken(column: pa.Array, rows: Rows) -> BytesColumn:
    """Some rows of a binary column; not copied where they follow each other."""
    first, count = int(rows[0]), len(rows)
    if int(rows[-1]) - first + 1 == count:
        some = column.slice(first, count)
    else:
        some = column.take(pa.array(rows))
    _, ends, data = some.buffers()
    offsets = memoryview(ends).cast("B").cast("i")[some.offset : some.offset + count + 1]
    return BytesColumn(offsets, memoryview(data or b"").cast("B"))
