"""Uploads in memory; passes the contract tests of its real twin."""

from itertools import islice
from typing import Any

from clients.s3.payload_bucket import PayloadMissingError, PayloadUnavailableError
from clients.s3.upload_bucket import IssuedUpload, StoredUpload, raw_id_in


class FakeUploads:
    """A bucket of uploads. ``is_up`` says whether S3 answers."""

    def __init__(self) -> None:
        self.objects: dict[str, StoredUpload] = {}
        self.marks: set[str] = set()
        self.position = ""
        self.is_up = True

    def take(self, key: str, issued: IssuedUpload, *, stored_millis: int) -> None:
        """Hold an upload, as S3 does once a device has sent it."""
        self.objects[key] = StoredUpload(
            key=key, raw_id=raw_id_in(key), stored_millis=stored_millis, issued=issued
        )

    def stored(self, key: str) -> StoredUpload:
        self._answer(key)
        raw_id_in(key)
        if key not in self.objects:
            raise PayloadMissingError(key)
        return self.objects[key]

    def is_landed(self, key: str) -> bool:
        self._answer(key)
        return key in self.marks

    def mark_landed(self, key: str) -> None:
        self._answer(key)
        self.marks.add(key)

    def listed(self, *, after: str, uploads_max: int) -> dict[str, int]:
        self._answer("uploads/")
        found = (one for key, one in sorted(self.objects.items()) if key > after)
        return {one.key: one.stored_millis for one in islice(found, uploads_max)}

    def landed_between(self, *, after: str, last: str) -> frozenset[str]:
        self._answer("landed/")
        return frozenset(key for key in self.marks if after < key <= last)

    def sweep_position(self) -> str:
        self._answer("sweep/position")
        return self.position

    def keep_sweep_position(self, key: str) -> None:
        self._answer("sweep/position")
        self.position = key

    def _answer(self, key: str) -> None:
        if not self.is_up:
            raise PayloadUnavailableError(key, "S3 is down")


class FakeForms:
    """Signs nothing; remembers what it was asked for."""

    def __init__(self) -> None:
        self.signed_for: list[tuple[str, IssuedUpload]] = []

    def signed(self, key: str, issued: IssuedUpload) -> dict[str, Any]:
        self.signed_for.append((key, issued))
        return {"url": "https://s3/payloads", "fields": {"key": key}}
