"""What each owner of flows publishes, below a prefix that it alone may write to."""

from collections.abc import Iterator

from clients.aws import S3Client
from clients.bucket_objects import BucketObjects
from clients.flows.store import FlowsUnavailableError, FlowVersions
from fleetlane.events.flows.files import WantedVersion
from fleetlane.events.s3_keys import FLOW_OWNERS, owner_in_key, owners_versions, wanted_key


class OwnerFlows:
    """Versions by owner, put once and never changed, and which of them each owner wants in force.

    All may raise ``FlowsUnavailableError``, where S3 does not answer, or does not allow it.
    """

    def __init__(self, s3: S3Client, bucket: str) -> None:
        self._objects = BucketObjects(s3, bucket, FlowsUnavailableError)

    def of(self, owner: str) -> FlowVersions:
        """An owner's versions, each with all flows that it has; none is in force by itself."""
        return FlowVersions(self._objects, owners_versions(owner))

    def wanted(self, owner: str) -> WantedVersion | None:
        """The version that an owner wants in force, if it ever said so."""
        return self._objects.read(wanted_key(owner), WantedVersion)

    def want(self, owner: str, wanted: WantedVersion) -> None:
        """Say which version is to be in force from the next activation on."""
        self._objects.put(wanted_key(owner), wanted.to_json())

    def owners(self) -> Iterator[str]:
        """All owners that want a version in force."""
        for one in self._objects.listed(FLOW_OWNERS):
            owner = owner_in_key(one["Key"])
            if one["Key"] == wanted_key(owner):
                yield owner
