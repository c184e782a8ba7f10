"""Requests of operators to the job that writes the lake, and its answers: small objects in S3.

Only the job may write the tables, so a command asks for upkeep and waits for the answer. And which
devices were erased from them: what arrived until then never comes back there.
"""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from clients.aws import S3Client
from clients.bucket_objects import BucketObjects
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.job_arguments import LakeTables
from fleetlane.events.s3_keys import ERASED, UPKEEP_ANSWERS, UPKEEP_REQUESTS, UPKEEP_SCHEDULED


class Upkeep(StrEnum):
    """What keeps tables quick to read, their past from growing for ever, or takes a device out."""

    COMPACT = "compact"
    EXPIRE = "expire"
    ERASE = "erase"


class UpkeepAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a request: ``done`` says what by table, ``problem`` why it failed."""

    request_id: str
    done: dict[str, str] = {}
    problem: str | None = None


class UpkeepRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be done with all tables of one writer. Each request has an id of its own.

    ``device_id`` is whom to erase; it belongs to that alone.
    """

    request_id: str
    upkeep: Upkeep
    device_id: str | None = None

    def __post_init__(self) -> None:
        if (self.upkeep is Upkeep.ERASE) is not (self.device_id is not None):
            raise ValueError("`device_id` and `erase` go together")


class RequestsUnavailableError(FleetlaneError):
    """S3 does not answer, or not with what we wrote. Trying again later may succeed."""

    key: str
    problem: str
    sentence = "requests for the lake's upkeep cannot be reached: {problem}"


class UpkeepRequests:
    """One request at a time for each writer: none takes the place of one that waits."""

    def __init__(self, s3: S3Client, bucket: str, tables: LakeTables) -> None:
        self._objects = BucketObjects(s3, bucket, RequestsUnavailableError)
        self._request_key = f"{UPKEEP_REQUESTS}{tables}.json"
        self._answer_key = f"{UPKEEP_ANSWERS}{tables}.json"
        self._scheduled_key = f"{UPKEEP_SCHEDULED}{tables}.json"

    def ask(self, request: UpkeepRequest) -> UpkeepRequest:
        """Ask, unless another request waits or is faster; gives the one that is there then."""
        key, body = self._request_key, msgspec.json.encode(request)
        found, version = self._objects.read_version(key, UpkeepRequest) or (None, None)
        if found is None or self.answer_to(found.request_id) is not None:
            self._objects.put_in_place_of(version, key, body)
            found = self._objects.read(key, UpkeepRequest)
        return found or request

    def waiting(self) -> UpkeepRequest | None:
        """The request, unless it was answered."""
        request = self._objects.read(self._request_key, UpkeepRequest)
        if request is None or self.answer_to(request.request_id) is not None:
            return None
        return request

    def answer(self, answer: UpkeepAnswer) -> None:
        self._objects.put(self._answer_key, msgspec.json.encode(answer))

    def answer_to(self, request_id: str) -> UpkeepAnswer | None:
        answer = self._objects.read(self._answer_key, UpkeepAnswer)
        return answer if answer is not None and answer.request_id == request_id else None

    def last_scheduled_ms(self) -> int | None:
        """When upkeep was last done without being asked for."""
        return (self._objects.read(self._scheduled_key, dict[str, int]) or {}).get("at_ms")

    def note_scheduled(self, now_ms: int) -> None:
        self._objects.put(self._scheduled_key, msgspec.json.encode({"at_ms": now_ms}))


class ErasedDevices:
    """A note for each writer of the lake; only who has its lease writes it.

    Both raise ``RequestsUnavailableError`` where S3 does not answer.
    """

    def __init__(self, s3: S3Client, bucket: str, tables: LakeTables) -> None:
        self._objects = BucketObjects(s3, bucket, RequestsUnavailableError)
        self._key = f"{ERASED}{tables}.json"

    def erased_until_ms(self) -> Mapping[str, int]:
        """Until which time of arrival nothing of a device is kept, by its id."""
        noted = self._objects.read(self._key, dict[str, dict[str, int]]) or {}
        return noted.get("until_ms", {})

    def note(self, device_id: str, *, until_ms: int) -> None:
        until = {**self.erased_until_ms(), device_id: until_ms}
        self._objects.put(self._key, msgspec.json.encode({"until_ms": until}))
