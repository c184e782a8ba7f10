"""The overrides object in S3: read by functions, changed by one writer at a time."""

import random
import time
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from clients.aws import is_overtaken
from clients.stale_if_error import StaleIfErrorCache
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.overrides import (
    OVERRIDES_BYTES_MAX,
    BadOverridesError,
    Overrides,
    overrides_from_json,
)
from fleetlane.events.s3_keys import OVERRIDES_KEY

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

_TRIES_MAX: Final = 8
_PAUSE_S_MAX: Final = 0.2


class OverridesUnavailableError(FleetlaneError):
    """The overrides cannot be read or written now. Trying again later may succeed."""

    reason = "overrides_unavailable"
    problem: str

    def __str__(self) -> str:
        return f"{OVERRIDES_KEY} cannot be reached: {self.problem}"


class OverridesStore:
    """The object in a bucket. ``s3`` is a client whose maker bounded its waits."""

    def __init__(
        self, s3: "S3Client", bucket: str, *, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self._s3, self._bucket, self._pause = s3, bucket, pause

    def read(self) -> Overrides:
        """Read the overrides; where there is no object, there are none.

        Raises:
            OverridesUnavailableError: S3 does not answer, or what it holds are no overrides.
        """
        overrides, _ = self._read()
        return overrides

    def change(self, changed: Callable[[Overrides], Overrides], *, now_ms: int) -> Overrides:
        """Replace the overrides by what ``changed`` makes of them, and return what was written.

        Only over what was read: where another writer comes first, ``changed`` is called again, on
        what that one wrote. What has ended by ``now_ms`` is left out.

        Raises:
            BadOverridesError: There is no room for so many.
            OverridesUnavailableError: S3 does not answer, or others came first again and again.
        """
        for _ in range(_TRIES_MAX):
            present, condition = self._read()
            wanted = changed(present).next_version(now_ms=now_ms)
            if self._written(wanted, condition):
                return wanted
            self._pause(random.uniform(0, _PAUSE_S_MAX))  # noqa: S311 - no secret
        raise OverridesUnavailableError(f"others changed it first, {_TRIES_MAX} times")

    def _read(self) -> tuple[Overrides, dict[str, Any]]:
        """The overrides, and the condition under which they may be replaced."""
        try:
            answer = self._s3.get_object(Bucket=self._bucket, Key=OVERRIDES_KEY)
            with closing(answer["Body"]) as body:
                text = body.read(OVERRIDES_BYTES_MAX + 1)
            return overrides_from_json(text), {"IfMatch": answer["ETag"]}
        except self._s3.exceptions.NoSuchKey:
            return Overrides(), {"IfNoneMatch": "*"}
        except (BotoCoreError, ClientError, OSError, BadOverridesError) as problem:
            raise OverridesUnavailableError(str(problem)) from problem

    def _written(self, overrides: Overrides, condition: dict[str, Any]) -> bool:
        """Write them; false if somebody else has written since."""
        try:
            self._s3.put_object(
                Bucket=self._bucket,
                Key=OVERRIDES_KEY,
                Body=overrides.to_json(),
                ContentType="application/json",
                **condition,
            )
        except self._s3.exceptions.NoSuchKey:
            return False  # deleted since
        except (BotoCoreError, ClientError) as problem:
            if is_overtaken(problem):
                return False
            raise OverridesUnavailableError(str(problem)) from problem
        return True


class ReadOverrides(Protocol):
    """What overrides can be read from."""

    def read(self) -> Overrides: ...


class CachedOverrides:
    """The overrides, at most ``max_age_s`` old; while S3 fails older ones, at first none.

    Nobody waits longer than ``wait_s`` for S3. May be used by several threads.
    ``on_unavailable`` is called while nothing was ever read.
    """

    def __init__(
        self,
        store: ReadOverrides,
        *,
        on_unavailable: Callable[[OverridesUnavailableError], None],
        max_age_s: float = 15.0,
        wait_s: float | None = 0.5,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._on_unavailable = on_unavailable
        self._overrides = StaleIfErrorCache(
            store.read,
            unanswered=OverridesUnavailableError("S3 has not answered yet"),
            max_age_s=max_age_s,
            wait_s=wait_s,
            monotonic=monotonic,
        )

    def current(self) -> Overrides:
        """Give the overrides; none where none could ever be read."""
        try:
            return self._overrides.current()
        except OverridesUnavailableError as problem:
            self._on_unavailable(problem)
            return Overrides()
