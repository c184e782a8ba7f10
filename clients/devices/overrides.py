"""The overrides object in S3: read by functions, changed by one writer at a time."""

import random
import time
from collections.abc import Callable
from typing import Final

from clients.aws import S3Client
from clients.bucket_objects import BucketObjects
from clients.stale_if_error import StaleIfErrorCache
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.overrides import (
    OVERRIDES_BYTES_MAX,
    BadOverridesError,
    Overrides,
    overrides_from_json,
)
from fleetlane.events.s3_keys import OVERRIDES_KEY

_TRIES_MAX: Final = 8
_PAUSE_S_MAX: Final = 0.2


class OverridesUnavailableError(FleetlaneError):
    """The overrides cannot be read or written now. Trying again later may succeed."""

    problem: str
    sentence = f"{OVERRIDES_KEY} cannot be reached: {{problem}}"


class OverridesStore:
    """The object in a bucket. ``s3`` is a client whose maker bounded its waits."""

    def __init__(
        self, s3: S3Client, bucket: str, *, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self._objects = BucketObjects(
            s3, bucket, lambda _, problem: OverridesUnavailableError(problem)
        )
        self._pause = pause

    def read(self) -> Overrides:
        """Read them, or none where there is no object; raises ``OverridesUnavailableError``."""
        return self._read()[0]

    def change(self, changed: Callable[[Overrides], Overrides], *, now_ms: int) -> Overrides:
        """Replace the overrides by what ``changed`` makes of them, and return what was written.

        Only over what was read: where another writer comes first, ``changed`` is called again, on
        what that one wrote. What has ended by ``now_ms`` is left out. Raises ``BadOverridesError``
        where there is no room for so many, or ``OverridesUnavailableError``.
        """
        for _ in range(_TRIES_MAX):
            present, version = self._read()
            wanted = changed(present).next_version(now_ms=now_ms)
            if self._objects.put_in_place_of(
                version, OVERRIDES_KEY, wanted.to_json(), ContentType="application/json"
            ):
                return wanted
            self._pause(random.uniform(0, _PAUSE_S_MAX))  # noqa: S311 - no secret
        raise OverridesUnavailableError(f"others changed it first, {_TRIES_MAX} times")

    def _read(self) -> tuple[Overrides, str | None]:
        """The overrides, and the version of their object, if there is one."""
        found = self._objects.get(OVERRIDES_KEY, bytes_max=OVERRIDES_BYTES_MAX + 1)
        if found is None:
            return Overrides(), None
        try:
            return overrides_from_json(found.body), found.version
        except BadOverridesError as problem:
            raise OverridesUnavailableError(str(problem)) from problem


def cached_overrides(
    read: Callable[[], Overrides],
    *,
    on_unavailable: Callable[[OverridesUnavailableError], None],
    max_age_s: float = 15.0,
    wait_s: float | None = 0.5,
) -> Callable[[], Overrides]:
    """Give what gives the overrides, at most ``max_age_s`` old; while S3 fails older ones, or none.

    Nobody waits longer than ``wait_s`` for S3. May be called by several threads.
    ``on_unavailable`` is called where reading fails and what is known has become old, or is none.
    """
    unanswered = OverridesUnavailableError("S3 has not answered yet")
    cache = StaleIfErrorCache(read, unanswered=unanswered, max_age_s=max_age_s, wait_s=wait_s)
    cache.on_stale = on_unavailable

    def current() -> Overrides:
        try:
            return cache.current()
        except OverridesUnavailableError as problem:
            on_unavailable(problem)
            return Overrides()

    return current
