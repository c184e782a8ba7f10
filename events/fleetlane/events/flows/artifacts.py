"""Which artifact the parser of a flow's rule comes in: its place in the bucket, its digest."""

from collections.abc import Iterable, Iterator
from typing import Annotated

import msgspec
from msgspec import Meta
from packaging.utils import canonicalize_name

from fleetlane.events.flows.artifact_manifest import Manifest
from fleetlane.events.flows.flow import Flow
from fleetlane.events.flows.parser_use import split_use
from fleetlane.events.names import checked_name
from fleetlane.events.s3_keys import owners_prefix


class FlowArtifact(msgspec.Struct, frozen=True, kw_only=True):
    """The artifact of all rules of an owner's flows that write ``use``. Unknown fields are ignored.

    ``key`` is below ``parsers/<owner>/``, where nobody but the owner needs to write; ``sha256`` is
    the zip's.
    """

    owner: str
    use: str
    key: Annotated[str, Meta(max_length=1024)]
    sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]

    @property
    def is_of_its_owner(self) -> bool:
        """Whether the key is in the owner's own place."""
        return self.key.startswith(owners_prefix(self.owner))


def artifact_key(owner: str, manifest: Manifest) -> str:
    """Where an owner's artifact is put: one place a name and version.

    Raises:
        BadNameError: The owner is no name like ``acme-sensors``, and can have no place.
    """
    name = canonicalize_name(manifest.name)
    return f"{owners_prefix(checked_name(owner, kind='owner'))}{name}/{manifest.version}.zip"


def version_in_key(key: str) -> str:
    """The version of the artifact at ``key``."""
    return key.rpartition("/")[2].removesuffix(".zip")


def team_rules(flows: Iterable[Flow]) -> Iterator[tuple[str, str]]:
    """Owner and ``use`` of each rule whose parser is no built-in format, each pair once."""
    pairs = ((flow.owner, rule.use) for flow in flows for rule in flow.parsers)
    yield from dict.fromkeys(pair for pair in pairs if is_of_a_team(pair[1]))


def is_of_a_team(use: str) -> bool:
    """Whether a rule's parser comes in an artifact: it is pinned, as no built-in format is."""
    return split_use(use)[1] is not None
