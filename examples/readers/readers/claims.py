"""Claims on buckets, as objects in S3: each is worked on by one reader, and taken over if it dies.

Nobody compares clocks: another's claim is free once its object has stood unchanged for the whole
lease, by the clock of who wants it; its holder trusts it for two thirds of that, by its own.
"""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Self

import msgspec
from botocore.exceptions import ClientError

from fleetlane.events.errors import FleetlaneError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_TRUSTED: Final = 2 / 3
_MISSING: Final = "NoSuchKey"
_OVERTAKEN: Final = frozenset({"PreconditionFailed", "ConditionalRequestConflict", _MISSING})


class ClaimLostError(FleetlaneError):
    """It was not renewed in time, or another reader has taken it over: write nothing more."""

    name: str
    reader: str
    sentence = "{reader} no longer holds {name}"


class ClaimState(msgspec.Struct, frozen=True, kw_only=True):
    """What the object says. ``done_ms`` is up to which change its bucket was done."""

    reader: str | None = None
    beat: int = 0
    done_ms: int = 0


class Claims:
    """One reader's way to claims. ``reader`` is a name that no other process has.

    ``s3`` is a boto3 client, whose errors other than a lost race come out as they are.
    """

    def __init__(
        self,
        s3: "S3Client",
        bucket: str,
        *,
        prefix: str,
        reader: str,
        lease_s: float = 60.0,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._s3, self._bucket, self._prefix = s3, bucket, prefix
        self.reader, self.lease_s, self.clock_s = reader, lease_s, clock_s
        self._seen: dict[str, tuple[str, float]] = {}
        """Of claims that others held: the version, and since when it has stood."""

    def claimed(self, name: object, changed_ms: int) -> "Claim | None":
        """Claim a bucket, unless it was done up to this change, or another reader has it.

        ``is_done`` tells the two apart.
        """
        state, version = self._read(str(name))
        if state.done_ms >= changed_ms or self._is_held(str(name), state, version):
            return None
        claim = Claim(self, str(name), state, version, changed_ms)
        return claim if claim.is_written(reader=self.reader) else None

    def is_done(self, name: object, changed_ms: int) -> bool:
        return self._read(str(name))[0].done_ms >= changed_ms

    def write(self, name: str, state: ClaimState, *, replacing: str | None) -> str | None:
        """Write over that version; gives the new one, or ``None`` if another was faster."""
        condition: Any = {"IfNoneMatch": "*"} if replacing is None else {"IfMatch": replacing}
        body = msgspec.json.encode(state)
        try:
            answer = self._s3.put_object(
                Bucket=self._bucket, Key=self._key(name), Body=body, **condition
            )
            return answer["ETag"]
        except ClientError as problem:
            if problem.response["Error"]["Code"] not in _OVERTAKEN:
                raise
        # A write whose answer was lost is refused when it is tried again, and was done.
        found, version = self._read(name)
        return version if found == state else None

    def _is_held(self, name: str, state: ClaimState, version: str | None) -> bool:
        if state.reader is None or version is None:
            self._seen.pop(name, None)
            return False
        if name not in self._seen or self._seen[name][0] != version:
            self._seen[name] = version, self.clock_s()
        return self.clock_s() - self._seen[name][1] < self.lease_s

    def _read(self, name: str) -> tuple[ClaimState, str | None]:
        try:
            answer = self._s3.get_object(Bucket=self._bucket, Key=self._key(name))
        except ClientError as problem:
            if problem.response["Error"]["Code"] == _MISSING:
                return ClaimState(), None
            raise
        return msgspec.json.decode(answer["Body"].read(), type=ClaimState), answer["ETag"]

    def _key(self, name: str) -> str:
        return f"{self._prefix}{name}.json"


class Claim:
    """A bucket that this reader holds. Its block finishes it, or where it raises hands it over.

    Long work calls ``renew`` in between, at least every third of the lease.
    """

    def __init__(
        self, claims: Claims, name: str, state: ClaimState, version: str | None, changed_ms: int
    ) -> None:
        self._claims, self._name, self._changed_ms = claims, name, changed_ms
        self._state, self._version = state, version
        self._trusted_until_s = float("-inf")

    def renew(self) -> None:
        """Hold it for the whole lease from now on. Raises ``ClaimLostError``."""
        self.check()
        if not self.is_written(reader=self._claims.reader):
            raise self._lost()

    def check(self) -> None:
        """Raise ``ClaimLostError`` unless it is surely held at this moment."""
        if self._claims.clock_s() >= self._trusted_until_s:
            raise self._lost()

    def is_written(self, *, reader: str | None, done_ms: int = 0) -> bool:
        """Write that this reader has it, or nobody. False if another was faster."""
        done_ms = max(done_ms, self._state.done_ms)
        state = ClaimState(reader=reader, beat=self._state.beat + 1, done_ms=done_ms)
        began_s = self._claims.clock_s()
        version = self._claims.write(self._name, state, replacing=self._version)
        if version is None:
            self._trusted_until_s = float("-inf")
            return False
        self._state, self._version = state, version
        self._trusted_until_s = began_s + self._claims.lease_s * _TRUSTED
        return True

    def _lost(self) -> ClaimLostError:
        return ClaimLostError(self._name, self._claims.reader)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        done_ms = self._changed_ms if kind is None else 0
        if not self.is_written(reader=None, done_ms=done_ms) and kind is None:
            raise self._lost()
