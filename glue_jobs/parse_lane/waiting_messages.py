"""Messages that wait for their parser, gathered into runs of one flow and parser each."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from fleetlane.events.envelope import Message
from fleetlane.parsers.sandbox.runs import Program, Run, envelope_of
from glue_jobs.parse_lane.chosen_parsers import ChosenParser
from glue_jobs.parse_lane.raw_batches import RawRecord

WAITING_BYTES_MAX: Final = 16 << 20
WAITING_MESSAGES_MAX: Final = 2_000


class WaitingMessage(NamedTuple):
    """A message, the record that it came as, and its body, fetched if need be."""

    record: RawRecord
    message: Message
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingRun:
    """Messages that one child parses by the rules of one flow, in order."""

    chosen: ChosenParser
    messages: list[WaitingMessage]

    @property
    def run(self) -> Run:
        return Run(
            program=self.chosen.program,
            assignment=self.chosen.assignment,
            envelopes=[envelope_of(waiting.message) for waiting in self.messages],
            bodies=[waiting.body for waiting in self.messages],
        )


class WaitingMessages:
    """Gathers messages, at most so many that their bodies fit into memory."""

    def __init__(self) -> None:
        self._runs: dict[tuple[Program, str], WaitingRun] = {}
        self._messages = self._bytes = 0

    @property
    def is_full(self) -> bool:
        return self._bytes >= WAITING_BYTES_MAX or self._messages >= WAITING_MESSAGES_MAX

    def add(self, waiting: WaitingMessage, chosen: ChosenParser) -> None:
        key = (chosen.program, chosen.assignment.flow.stream)
        run = self._runs.get(key)
        if run is None:
            run = self._runs[key] = WaitingRun(chosen=chosen, messages=[])
        run.messages.append(waiting)
        self._messages += 1
        self._bytes += len(waiting.body)

    def taken(self) -> Iterator[WaitingRun]:
        """Give all runs, in the order in which they began, and begin anew."""
        runs, self._runs = self._runs, {}
        self._messages = self._bytes = 0
        yield from runs.values()
