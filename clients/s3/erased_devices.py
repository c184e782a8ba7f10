"""Which devices were erased from the lake: what arrived until then never comes back there."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from clients.bucket_objects import BucketObjects
from clients.s3.upkeep_requests import RequestsUnavailableError
from fleetlane.events.job_arguments import LakeTables
from fleetlane.events.s3_keys import ERASED

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client


class _Noted(msgspec.Struct, frozen=True, kw_only=True):
    until_ms: dict[str, int] = {}


class ErasedDevices:
    """A note for each writer of the lake; only who has its lease writes it.

    Both raise ``RequestsUnavailableError`` where S3 does not answer.
    """

    def __init__(self, s3: "S3Client", bucket: str, tables: LakeTables) -> None:
        self._objects = BucketObjects(
            s3, bucket, lambda _, problem: RequestsUnavailableError(problem)
        )
        self._key = f"{ERASED}{tables}.json"

    def erased_until_ms(self) -> Mapping[str, int]:
        """Until which time of arrival nothing of a device is kept, by its id."""
        noted = self._objects.decoded(self._objects.get(self._key), self._key, _Noted)
        return {} if noted is None else noted.until_ms

    def note(self, device_id: str, *, until_ms: int) -> None:
        noted = _Noted(until_ms={**self.erased_until_ms(), device_id: until_ms})
        self._objects.put(self._key, msgspec.json.encode(noted))
