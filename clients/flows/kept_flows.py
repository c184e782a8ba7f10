"""The flows in force, and on disk those that S3 gave last to any process of this machine."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from clients.flows.store import CurrentFlows, FlowsNotPublishedError
from fleetlane.events.flows.files import PublishedFlows

_FILE: Final = "current-flows.json"


class KeptFlows:
    """A store whose last flows outlive the process that read them.

    Spark starts Python workers at any time. Without this, one that begins while S3 fails knows no
    flows, and fails the batch of every lane, though what is in Kafka needs no S3.
    """

    def __init__(self, store: CurrentFlows, folder: Path) -> None:
        """Keep them in ``folder``, which must be this user's own; made if need be."""
        self._store, self._file = store, folder / _FILE
        self._kept: str | None = None

    def current(self) -> PublishedFlows:
        """Read the version in force from the store, which may raise, and keep it."""
        try:
            published = self._store.current()
        except FlowsNotPublishedError:
            self._file.unlink(missing_ok=True)
            raise
        if published.version != self._kept:
            with suppress(OSError):  # such as a full disk: they were read all the same
                self._keep(published)
        return published

    def last(self) -> PublishedFlows | None:
        """Those that were kept; ``None`` if there are none, or another user's."""
        try:
            if self._file.stat().st_uid != os.getuid():
                return None
            return msgspec.json.decode(self._file.read_bytes(), type=PublishedFlows)
        except (OSError, msgspec.MsgspecError):
            return None

    def _keep(self, published: PublishedFlows) -> None:
        """Others see them whole or not at all."""
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        beside = self._file.with_name(f"{_FILE}.{os.getpid()}")
        beside.write_bytes(published.to_json())
        beside.replace(self._file)
        self._kept = published.version
