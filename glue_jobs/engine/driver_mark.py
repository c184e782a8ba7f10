"""Which driver of an application has begun last: it goes on, and any other ends itself.

Glue and EMR let one run of a job begin at a time, and a platform on a laptop locks its folder. What
begins a driver past them (by hand, or on the other side of a network's partition) has two of them
on the same checkpoints, which S3 keeps from neither: each record comes twice, and batches fail as
both write the same log.
"""

from collections.abc import Callable
from uuid import uuid4

from fleetlane.events.errors import FleetlaneError
from glue_jobs.engine.checkpoint_notes import Files


class ReplacedDriverError(FleetlaneError):
    """Another driver has begun later, and has the checkpoints now."""

    application: str
    sentence = (
        "application {application}: another driver has begun on the same checkpoints; this one"
        " ended between batches, and the other goes on"
    )


class DriverMark:
    """The file ``name`` has the id of the driver whose queries have all begun last.

    To be made before its driver starts any, and read then: what is written later replaces that one,
    also where its own never all begin. Making it raises as reading a file does.
    """

    def __init__(self, files: Files, name: str) -> None:
        self._files, self._name, self._own = files, name, uuid4().hex.encode()
        self._last, self.is_replaced = files.read(name), False

    def write_once(self, has_begun: Callable[[], bool]) -> None:
        """Take the checkpoints, as soon as all queries have begun: a deploy waits for the file."""
        if self._last != self._own and has_begun():
            self._files.write(self._name, self._own)
            self._last = self._own

    def look(self) -> bool:
        """Whether another driver has taken the checkpoints since; raises as reading a file does."""
        self.is_replaced = self._files.read(self._name) not in (None, self._last)
        return self.is_replaced
