"""Finding uploads that never landed: a notification was lost, or came while nothing worked."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol
from urllib.parse import unquote_plus

from clients.flows.store import FlowsUnavailableError
from clients.kafka.producer import NotDurableError, RecordRefusedError
from clients.s3.payload_bucket import PayloadMissingError, PayloadUnavailableError
from clients.s3.upload_bucket import NotAnUploadError, issued_since
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.times import DAY_MS

OUTAGES: Final = (NotDurableError, PayloadUnavailableError, FlowsUnavailableError)
"""Errors that are no upload's fault: the next one may meet them too."""

FAULTS: Final = (NotAnUploadError, PayloadMissingError, RecordRefusedError)
"""Errors of one upload alone. A record that Kafka refuses is taken once its topic is there."""

OUTAGES_MAX: Final = 3
"""So many in a row are of all uploads; one may be of a topic without a leader, or of an object."""


class BadNotificationError(FleetlaneError):
    """A message in the queue is no notification of S3's."""

    problem: str
    sentence = "a message in the queue of uploads is no notification of S3: {problem}"


def failed_messages(
    messages: Iterable[Mapping[str, Any]],
    land: Callable[[str], object],
    on_failure: Callable[[FleetlaneError], None],
) -> list[str]:
    """Land what a batch of messages tells of; give the ids of those that are to come again.

    A fault of one upload stops no other of its message. In an outage nothing more is tried: a batch
    waits for Kafka or S3 a few times, not once a message.
    """
    failed: list[str] = []
    in_a_row = 0
    for message in messages:
        try:
            if in_a_row < OUTAGES_MAX:
                keys = uploaded_keys(message["body"])
                landed = [_try_landing(key, land, on_failure) for key in keys]
                in_a_row = 0
                if all(landed):
                    continue
        except BadNotificationError as problem:
            on_failure(problem)
        except OUTAGES as problem:
            in_a_row += 1
            on_failure(problem)
        failed.append(message["messageId"])
    return failed


def _try_landing(
    key: str, land: Callable[[str], object], on_failure: Callable[[FleetlaneError], None]
) -> bool:
    """Whether an upload landed; ``on_failure`` receives its fault. Raises ``OUTAGES``."""
    try:
        land(key)
    except FAULTS as problem:
        on_failure(problem)
        return False
    return True


def uploaded_keys(notification: str) -> Iterator[str]:
    """Read the keys in a notification, none in S3's test; raises ``BadNotificationError``."""
    try:
        content = json.loads(notification)
        keys = [unquote_plus(one["s3"]["object"]["key"]) for one in content.get("Records", ())]
        is_test = content.get("Event") == "s3:TestEvent"
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as problem:
        raise BadNotificationError(repr(problem)) from None
    if not keys and not is_test:
        raise BadNotificationError("it names no object")
    yield from keys


LOOK_BACK_MS: Final = DAY_MS
"""So long after its issue an upload may come in: S3 looks at a form's expiry when it begins."""

_PAGE: Final = 1000


class SweptUploads(Protocol):
    """Lists what S3 holds; ``clients.s3.upload_bucket.UploadBucket`` is one."""

    def listed(self, *, after: str, uploads_max: int) -> Mapping[str, int]: ...
    def landed_between(self, *, after: str, last: str) -> frozenset[str]: ...
    def sweep_position(self) -> str: ...
    def keep_sweep_position(self, key: str) -> None: ...


@dataclass(slots=True, kw_only=True)
class SweepReport:
    """What one run did. ``faults`` are of uploads that did not land; ``outage`` ended the run."""

    looked_at: int = 0
    landed: list[str] = field(default_factory=list)
    faults: list[FleetlaneError] = field(default_factory=list)
    outage: FleetlaneError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """Lands what S3 took at least ``after_s`` ago and nobody landed, oldest issue first.

    Its position is kept in S3, so that a run goes on where the one before it ended. At the end of
    the listing it goes back by a day: what was still being uploaded is seen then; or to the first
    that did not land and may later, which holds up none behind it. Losing the position costs one
    look at everything that there is.
    """

    uploads: SweptUploads
    land: Callable[[str], object | None]
    after_s: int

    def run(self, *, now_ms: int, may_go_on: Callable[[], bool]) -> SweepReport:
        """Sweep until the end, an outage, or until ``may_go_on`` says no; raises nothing."""
        report = SweepReport()
        try:
            self._run(report, now_ms, may_go_on)
        except OUTAGES as problem:
            report.outage = problem
        return report

    def _run(self, report: SweepReport, now_ms: int, may_go_on: Callable[[], bool]) -> None:
        began = position = self.uploads.sweep_position()
        in_a_row, not_passed = 0, None
        try:
            while may_go_on():
                page = self.uploads.listed(after=position, uploads_max=_PAGE)
                for key in self._missing(page, position, now_ms):
                    if not may_go_on():
                        return
                    problem = self._land(key, report)
                    if isinstance(problem, OUTAGES) and not_passed is None:
                        not_passed = position
                    is_outage = isinstance(problem, OUTAGES) and not isinstance(problem, FAULTS)
                    in_a_row = in_a_row + 1 if is_outage else 0
                    if problem is not None and in_a_row >= OUTAGES_MAX:
                        raise problem
                report.looked_at += len(page)
                if len(page) < _PAGE:
                    position = issued_since(now_ms - LOOK_BACK_MS)
                    return
                position = max(page)
        finally:
            kept = position if not_passed is None else min(position, not_passed)
            if report.looked_at and kept != began:
                self.uploads.keep_sweep_position(kept)

    def _missing(self, page: Mapping[str, int], after: str, now_ms: int) -> list[str]:
        """Those without a mark; the youngest are left to their notifications."""
        if not page:
            return []
        landed = self.uploads.landed_between(after=after, last=max(page))
        latest_ms = now_ms - self.after_s * 1000
        return [key for key, ms in page.items() if key not in landed and ms <= latest_ms]

    def _land(self, key: str, report: SweepReport) -> FleetlaneError | None:
        """Land one; gives why not, which the report has too."""
        try:
            if self.land(key) is not None:
                report.landed.append(key)
        except (*FAULTS, *OUTAGES) as problem:
            report.faults.append(problem)
            return problem
        return None
