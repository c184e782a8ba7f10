"""Published flows in S3: every version as it was published, and which of them is current."""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, Protocol

import msgspec

from clients.aws import S3Client
from clients.bucket_objects import BucketObjects
from clients.stale_if_error import StaleIfErrorCache
from fleetlane.events import s3_keys
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.flows.artifacts import FlowArtifact
from fleetlane.events.flows.files import VERSION_CHARS, PublishedFlows, WantedVersion, version_of
from fleetlane.events.flows.flow import Flow
from fleetlane.events.job_arguments import FLOWS_MAX_AGE_S
from fleetlane.events.times import millis_of

BEFORE_MAX: Final = 20
_JSON: Final = "application/json"
VERSION: Final = re.compile(f"[0-9a-f]{{{VERSION_CHARS}}}")


class FlowsUnavailableError(FleetlaneError):
    """Flows cannot be read from S3. Trying again later may succeed."""

    wanted: str
    problem: str
    sentence = "{wanted} cannot be read: {problem}"


class FlowsNotPublishedError(FlowsUnavailableError):
    """There is no such version, or none was ever made current."""

    reason = "flows_not_published"

    problem: str = "it was never published"


class FlowsUnreadableError(FlowsUnavailableError):
    """What S3 holds in their place are no flows. Whoever makes a version current replaces it."""

    reason = "flows_unreadable"


class FlowsOvertakenError(FlowsUnavailableError):
    """Another version came into force meanwhile. Trying again goes by that one."""

    reason = "flows_overtaken"


class FlowVersions:
    """Versions of flows below a prefix: put once, never changed, named for what is in them.

    Every method raises ``FlowsUnavailableError`` where S3 does not answer, or does not allow it.
    """

    def __init__(self, objects: BucketObjects, prefix: str) -> None:
        self._objects, self._prefix = objects, prefix

    def publish(
        self, flows: Iterable[Flow], artifacts: Iterable[FlowArtifact] = (), *, by: str = ""
    ) -> str:
        """Store flows as a version, not yet in force, and return its name: equal for equal flows.

        ``artifacts`` are those of their parsers; who was the first to publish it stays. Raises
        ``FlowsUnreadableError`` where something else has its name, or msgspec's error where that
        are no flows at all.
        """
        published = msgspec.structs.replace(PublishedFlows.of(flows, artifacts), published_by=by)
        key, body = f"{self._prefix}{published.version}.json", published.to_json()
        if self._objects.put_in_place_of(None, key, body, ContentType=_JSON) is None:
            found = self._objects.get(key)
            if found is not None and version_of(found.body) != published.version:
                raise FlowsUnreadableError(key, "other content has this version's name, and stays")
        return published.version

    def published(self, version: str) -> PublishedFlows:
        """Read a version, whose name is the digest of what is in it.

        Raises ``FlowsNotPublishedError``, or ``FlowsUnreadableError`` where its name is not true.
        """
        key = f"{self._prefix}{version[:80]}.json"
        found = self._objects.get(key) if VERSION.fullmatch(version) else None
        if found is None:
            raise FlowsNotPublishedError(key)
        try:
            if version_of(found.body) == version:
                return msgspec.json.decode(found.body, type=PublishedFlows)
        except msgspec.MsgspecError as problem:
            raise FlowsUnreadableError(key, str(problem)) from problem
        raise FlowsUnreadableError(key, f"its content is version {version_of(found.body)}")

    def versions(self) -> Iterator[tuple[str, int]]:
        """The names of all versions, and when each was published last, in epoch milliseconds."""
        for one in self._objects.listed(self._prefix):
            version = one["Key"].removeprefix(self._prefix).removesuffix(".json")
            yield version, millis_of(one["LastModified"])


class FlowStore(FlowVersions):
    """Flows under ``flows/`` of a bucket. ``s3`` is a client whose maker bounded its waits."""

    def __init__(self, s3: S3Client, bucket: str) -> None:
        super().__init__(BucketObjects(s3, bucket, FlowsUnavailableError), s3_keys.FLOW_VERSIONS)
        self._last: tuple[str | None, PublishedFlows] | None = None

    def make_current(
        self,
        version: str,
        *,
        owners: Mapping[str, tuple[str, ...]] | None = None,
        in_place_of: str | None = None,
    ) -> PublishedFlows:
        """Let a published version be the one in force, and return it.

        It tells ``BEFORE_MAX`` versions that were in force before it, and the ``owners``' in it.

        Raises:
            FlowsNotPublishedError: There is none of this name.
            FlowsOvertakenError: Another than ``in_place_of``, where that is given, is in force;
                or somebody else made one current at this moment.
        """
        flows, key = self.published(version), s3_keys.CURRENT_FLOWS_KEY
        found = self._objects.get(key)
        history = self.history()
        before = [one for one in history if one != version][:BEFORE_MAX]
        current = msgspec.structs.replace(flows, before=tuple(before), owners=owners or {})
        replaced = None if found is None else found.version
        is_known = in_place_of in (None, *history[:1])
        # A write whose answer was lost is refused when it is tried again, and was done.
        if not is_known or not (
            self._objects.put_in_place_of(replaced, key, current.to_json(), ContentType=_JSON)
            or self.in_force() == current
        ):
            raise FlowsOvertakenError(key, "another version is in force by now")
        return current

    def current(self) -> PublishedFlows:
        """Read the version in force; raises ``FlowsNotPublishedError`` if there never was one."""
        found = self._objects.get(s3_keys.CURRENT_FLOWS_KEY)
        if found is None:
            raise FlowsNotPublishedError(s3_keys.CURRENT_FLOWS_KEY)
        try:
            last = self._last  # decoding many flows takes a second
            if last is None or last[0] != found.version:
                last = found.version, msgspec.json.decode(found.body, type=PublishedFlows)
                self._last = last
            return last[1]
        except msgspec.MsgspecError as problem:
            raise FlowsUnreadableError(s3_keys.CURRENT_FLOWS_KEY, str(problem)) from problem

    def in_force(self) -> PublishedFlows | None:
        """Read the version in force, if there ever was one and it can be read."""
        try:
            return self.current()
        except (FlowsNotPublishedError, FlowsUnreadableError):
            return None

    def history(self) -> tuple[str, ...]:
        """The version in force and those before it, newest first; empty where there is none."""
        current = self.in_force()
        return () if current is None else (current.version, *current.before)


class OwnerFlows:
    """Versions by owner, put once and never changed, and which of them each owner wants in force.

    All may raise ``FlowsUnavailableError``, where S3 does not answer, or does not allow it.
    """

    def __init__(self, s3: S3Client, bucket: str) -> None:
        self._objects = BucketObjects(s3, bucket, FlowsUnavailableError)

    def of(self, owner: str) -> FlowVersions:
        """An owner's versions, each with all flows that it has; none is in force by itself."""
        return FlowVersions(self._objects, s3_keys.owners_versions(owner))

    def wanted(self, owner: str) -> WantedVersion | None:
        return self._objects.read(s3_keys.wanted_key(owner), WantedVersion)

    def want(self, owner: str, wanted: WantedVersion) -> None:
        """Say which version is to be in force from the next activation on."""
        self._objects.put(s3_keys.wanted_key(owner), wanted.to_json())

    def owners(self) -> Iterator[str]:
        for one in self._objects.listed(s3_keys.FLOW_OWNERS):
            owner = s3_keys.owner_in_key(one["Key"])
            if one["Key"] == s3_keys.wanted_key(owner):
                yield owner


class CurrentFlows(Protocol):
    """What can be asked for the flows in force."""

    def current(self) -> PublishedFlows: ...


class CachedFlows(StaleIfErrorCache[PublishedFlows, FlowsUnavailableError]):
    """The flows in force, read again when they are too old; older ones while S3 fails.

    May be used by several threads.
    ``kept`` gives flows for where S3 fails from the beginning: old ones, so ``fresh`` raises.
    ``current`` raises ``FlowsUnavailableError``: S3 fails, and no flows were ever read.
    """

    def __init__(
        self,
        store: CurrentFlows,
        *,
        max_age_s: float = FLOWS_MAX_AGE_S,
        kept: Callable[[], PublishedFlows | None] = lambda: None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(
            store.current,
            unanswered=FlowsUnavailableError(s3_keys.CURRENT_FLOWS_KEY, "S3 has not answered yet"),
            max_age_s=max_age_s,
            kept=kept,
            monotonic=monotonic,
        )
