"""The objects of one bucket: what S3 fails at is an error of its caller's, what is missing None."""

import base64
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import msgspec
from botocore.exceptions import BotoCoreError, ClientError

from clients.aws import S3Client, asking
from fleetlane.events.errors import FleetlaneError

if TYPE_CHECKING:
    from botocore.response import StreamingBody
    from mypy_boto3_s3.type_defs import ObjectTypeDef, PutObjectOutputTypeDef

PIECE_BYTES: Final = 256 * 1024
PROMPT_S: Final = 0.25
"""An answer of 500 or a connection that was closed while idle comes sooner than this."""

_FAILURES: Final = (BotoCoreError, ClientError, OSError)

_MISSING: Final = frozenset({"NoSuchKey", "404"})
"""There is no such object; a missing bucket is something else."""

_OVERTAKEN: Final = _MISSING | {"PreconditionFailed", "ConditionalRequestConflict", "412", "409"}
"""A conditional write was refused: somebody else wrote, deleted, or writes right now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObject:
    """An object as it was read; ``version`` changes with every write."""

    body: bytes
    version: str


class BucketObjects:
    """Objects by their keys. ``s3`` is a client whose maker bounded its waits.

    Where S3 fails, every method raises what ``unavailable`` makes of the key and the problem.
    """

    def __init__(
        self, s3: S3Client, bucket: str, unavailable: Callable[[str, str], FleetlaneError]
    ) -> None:
        self._s3, self._bucket, self._unavailable = s3, bucket, unavailable

    def ask[T](
        self, key: str, call: Callable[[], T], *, none_for: frozenset[str] = _MISSING
    ) -> T | None:
        """What a call of S3 gives; ``None`` where it fails by a code that is to give that."""
        try:
            return call()
        except _FAILURES as problem:
            answer = problem.response if isinstance(problem, ClientError) else {}
            if answer.get("Error", {}).get("Code", "") in none_for:
                return None
            raise self._unavailable(key, str(problem)) from problem

    def get(self, key: str, *, bytes_max: int | None = None) -> StoredObject | None:
        """Read an object, or its first ``bytes_max`` bytes."""

        def read() -> StoredObject:
            answer = self._s3.get_object(Bucket=self._bucket, Key=key)
            with closing(answer["Body"]) as body:  # entered itself it raises urllib3's errors
                return StoredObject(body=body.read(bytes_max), version=answer["ETag"])

        return self.ask(key, read)

    def pieces(self, key: str, body: "StreamingBody", *, within_s: float) -> Iterator[bytes]:
        """Read a body that ``get_object`` gave; one that comes more slowly is unavailable."""
        until_s = time.monotonic() + within_s
        for piece in body.iter_chunks(PIECE_BYTES):
            yield piece
            if time.monotonic() > until_s:
                limit = f"the limit is {within_s:g} s"
                raise self._unavailable(key, f"it comes too slowly; {limit}")

    def read[T](self, key: str, kind: type[T]) -> T | None:
        """Read an object's JSON; what is none counts as an answer that S3 should not give."""
        found = self.read_version(key, kind)
        return None if found is None else found[0]

    def read_version[T](self, key: str, kind: type[T]) -> tuple[T, str] | None:
        found = self.get(key)
        if found is None:
            return None
        try:
            return (msgspec.json.decode(found.body, type=kind), found.version)
        except msgspec.MsgspecError as problem:
            raise self._unavailable(key, str(problem)) from problem

    def put(self, key: str, body: bytes | BinaryIO, **options: Any) -> None:
        """Write an object over what was there; ``options`` are more arguments of ``put_object``."""
        self.ask(key, partial(self._put, key, body, **options))

    def put_in_place_of(
        self, version: str | None, key: str, body: bytes | BinaryIO, **options: Any
    ) -> str | None:
        """Write over that version, or where there is none; gives the new one.

        ``None`` where another was faster.
        """
        condition = {"IfNoneMatch": "*"} if version is None else {"IfMatch": version}
        put = partial(self._put, key, body, **options, **condition)
        answer = self.ask(key, put, none_for=_OVERTAKEN)
        return None if answer is None else answer["ETag"]

    def put_promptly(self, key: str, body: bytes, *, sha256: bytes) -> None:
        """Write an object; returns once S3 has it and has found its digest to be ``sha256``.

        Tries once more if that failed within a quarter of a second: of more there is no time.
        """
        digest = base64.b64encode(sha256).decode()
        put = partial(self._put, key, body, ChecksumAlgorithm="SHA256", ChecksumSHA256=digest)
        began_s = time.monotonic()
        try:
            answer = self.ask(key, put)
        except FleetlaneError:
            if time.monotonic() - began_s > PROMPT_S:
                raise
            answer = self.ask(key, put)
        confirmed = None if answer is None else answer.get("ChecksumSHA256")
        if confirmed != digest:
            raise self._unavailable(key, f"S3 confirmed digest {confirmed}, not {digest}")

    def delete(self, key: str) -> None:
        """Delete an object; one that is not there is no error."""
        self.ask(key, lambda: self._s3.delete_object(Bucket=self._bucket, Key=key))

    def listed(self, prefix: str, *, after: str = "") -> "Iterator[ObjectTypeDef]":
        """Go through the objects behind a key, in order; S3 is asked as far as one reads."""
        pages = self._s3.get_paginator("list_objects_v2")
        with asking(self._unavailable, prefix):
            for page in pages.paginate(Bucket=self._bucket, Prefix=prefix, StartAfter=after):
                yield from page.get("Contents", ())

    def _put(self, key: str, body: bytes | BinaryIO, **options: Any) -> "PutObjectOutputTypeDef":
        return self._s3.put_object(Bucket=self._bucket, Key=key, Body=body, **options)
