"""Where uploaded bodies are, in the order of their issue, and the marks of those that landed."""

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.names import is_raw_id
from fleetlane.events.s3_keys import LANDED_UPLOADS, UPLOADS
from fleetlane.events.times import hour_bucket, rfc3339


class NotAnUploadError(FleetlaneError):
    """An object that no device uploaded by a form of ours. It can never land."""

    reason = "not_an_upload"
    key: str
    problem: str

    def __str__(self) -> str:
        return f"{self.key[:200]!r} is no upload of a device: {self.problem}"


def upload_key(raw_id: str, *, issued_millis: int) -> str:
    """Name an upload: ``uploads/2026-11-03T14-05/<raw id>``. Keys are in the order of issue."""
    minute = rfc3339(issued_millis)[:16].replace(":", "-")
    return f"{UPLOADS}{minute}/{raw_id}"


def issued_since(millis: int) -> str:
    """A key before all uploads issued in this hour or later, and behind all earlier ones."""
    return UPLOADS + hour_bucket(millis)


def raw_id_in(key: str) -> str:
    """Read the raw id in an upload's key; raises ``NotAnUploadError``."""
    folder, _, raw_id = key.rpartition("/")
    if not folder.startswith(UPLOADS) or not is_raw_id(raw_id):
        raise NotAnUploadError(key, "its key is not uploads/<minute>/<raw id>")
    return raw_id


def landed_key(key: str) -> str:
    """Name the mark of an upload that landed; marks are in the order of their uploads."""
    return LANDED_UPLOADS + key.removeprefix(UPLOADS)


def key_of_landed(mark: str) -> str:
    """Name the upload that a mark is of."""
    return UPLOADS + mark.removeprefix(LANDED_UPLOADS)
