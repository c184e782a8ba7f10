"""The time of all stand-ins, which passes only when a test says so, and a bucket."""

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from botocore.exceptions import ClientError


class Time(Protocol):
    """``Clock`` is one; that of a wall is another."""

    @property
    def now(self) -> datetime: ...
    @property
    def now_ms(self) -> int: ...
    def pass_(self, seconds: float) -> None: ...


@dataclass
class Clock:
    now: datetime = datetime(2026, 11, 3, 14, tzinfo=UTC)

    @property
    def now_ms(self) -> int:
        return int(self.now.timestamp() * 1000)

    def pass_(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@dataclass
class Bucket:
    """The calls of S3 that a deploy makes, of one bucket."""

    clock: Time
    objects: dict[str, tuple[bytes, datetime]] = field(default_factory=dict)

    def put_object(self, *, Bucket: str, Key: str, Body: bytes) -> dict[str, Any]:  # noqa: N803
        self.objects[Key] = (Body, self.clock.now)
        return {}

    def get_object(self, *, Bucket: str, Key: str) -> dict[str, Any]:  # noqa: N803
        if Key not in self.objects:
            raise ClientError({"Error": {"Code": "NoSuchKey"}}, "GetObject")
        body, at = self.objects[Key]
        return {"Body": io.BytesIO(body), "LastModified": at}

    def delete_object(self, *, Bucket: str, Key: str) -> dict[str, Any]:  # noqa: N803
        self.objects.pop(Key, None)
        return {}

    def get_paginator(self, _: str) -> "Bucket":
        return self

    def paginate(self, *, Bucket: str, Prefix: str, StartAfter: str) -> Iterator[dict[str, Any]]:  # noqa: N803
        keys = sorted(key for key in self.objects if key.startswith(Prefix) and key > StartAfter)
        yield {"Contents": [{"Key": key, "LastModified": self.objects[key][1]} for key in keys]}
