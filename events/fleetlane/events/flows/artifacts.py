"""Parser artifacts: which one a flow's rule needs, and the manifest of what is in it.

An artifact is one zip, ``NAME-VERSION.zip``: the team's package and what it depends on, as they
lie in a folder on ``sys.path``, and the manifest beside them. Reading it imports nothing of it.
"""

import errno
import hashlib
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Annotated, BinaryIO, Final

import msgspec
from msgspec import Meta
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.flows.flow import Flow, Name, ParserRule
from fleetlane.events.names import checked_name
from fleetlane.events.s3_keys import owners_prefix

MANIFEST_NAME: Final = "fleetlane-artifact.json"
FORMAT: Final = 1
ANY_PLATFORM: Final = "any"
ARTIFACT_BYTES_MAX: Final = 128 << 20
"""Of the zip, and of its files together: they are stored, not compressed."""

MANIFEST_BYTES_MAX: Final = 4 << 20
OPTIONS_BYTES_MAX: Final = 128 << 10
"""Of a rule, as JSON: they go to the zygote in one packet, half as long again."""

MEMBERS_MAX: Final = 10_000

_NOT_WHOLE: Final = (zipfile.BadZipFile, EOFError, RuntimeError, UnicodeDecodeError)
"""``zipfile`` raises runtime errors for encrypted members and for future versions."""


class BadArtifactError(FleetlaneError):
    """A file is no parser artifact, or not a whole one. ``artifact`` is its name."""

    artifact: str
    problem: str
    sentence = "{artifact}: {problem}"


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A file of an artifact."""

    sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
    size_bytes: Annotated[int, Meta(ge=0)]


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What an artifact contains. Unknown fields are ignored.

    ``name`` and ``version`` are the distribution's, and ``version`` that of its parsers too.
    ``parsers`` maps a parser's name to its entry point, ``members`` a file's path to its digest.
    ``platform`` is ``any`` where nothing is compiled, else uv's name of it.
    """

    format: int
    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9._-]{1,100}\Z")]
    version: Annotated[str, Meta(pattern=r"^[0-9A-Za-z.+!_-]{1,100}\Z")]
    python: str
    platform: str
    parsers: Annotated[Mapping[Name, str], Meta(min_length=1)]
    members: Annotated[Mapping[str, Member], Meta(max_length=MEMBERS_MAX)]

    @property
    def file_name(self) -> str:
        return f"{canonicalize_name(self.name)}-{self.version}.zip"

    @property
    def uses(self) -> tuple[str, ...]:
        """What flows write to use its parsers."""
        return tuple(f"{name}=={self.version}" for name in self.parsers)

    def offers(self, use: str) -> bool:
        """Whether a flow's ``name==version`` is one of its parsers; versions equal by PEP 440."""
        name, version = split_use(use)
        return name in self.parsers and is_same_version(version or "", self.version)

    def to_json(self) -> bytes:
        """The same bytes for equal manifests."""
        return msgspec.json.format(msgspec.json.encode(self, order="deterministic")) + b"\n"


def read_manifest(file: Path | BinaryIO, *, artifact: str) -> Manifest:
    """Read the manifest of a zip; ``artifact`` names it in errors. Members stay unread.

    Raises ``BadArtifactError`` where there is none, or none with a manifest of this format.
    """
    with opened_artifact(file, artifact=artifact) as (_, manifest):
        return manifest


@contextmanager
def opened_artifact(
    file: Path | BinaryIO, *, artifact: str
) -> Iterator[tuple[zipfile.ZipFile, Manifest]]:
    """Open an untrusted zip, and read its manifest; defects found in between are refused likewise.

    Raises ``BadArtifactError`` as ``read_manifest``; or where what is read in it is not whole,
    encrypted, or of a kind that ``zipfile`` does not know.
    """
    try:
        archive = zipfile.ZipFile(file)
    except FileNotFoundError:
        raise BadArtifactError(artifact, "does not exist") from None
    except (OSError, *_NOT_WHOLE) as problem:
        raise BadArtifactError(artifact, f"is not a whole zip file: {problem}") from None
    with archive:
        try:
            yield archive, _manifest_in(archive, artifact)
        except _NOT_WHOLE as problem:
            raise BadArtifactError(artifact, f"is not a whole zip file: {problem}") from None
        except OSError as problem:
            if problem.errno != errno.EINVAL:  # it is of a member that begins before the file
                raise
            raise BadArtifactError(artifact, "is not a whole zip file") from None


def _manifest_in(archive: zipfile.ZipFile, artifact: str) -> Manifest:
    try:
        entry = archive.getinfo(MANIFEST_NAME)
    except KeyError:
        problem = f"has no {MANIFEST_NAME}: make it with `fleetlane parser build`"
        raise BadArtifactError(artifact, problem) from None
    if entry.compress_type != zipfile.ZIP_STORED or entry.file_size > MANIFEST_BYTES_MAX:
        problem = f"{MANIFEST_NAME} has {entry.file_size} bytes, or is compressed"
        raise BadArtifactError(artifact, f"{problem}; allowed: {MANIFEST_BYTES_MAX} stored")
    try:
        manifest = msgspec.json.decode(archive.read(entry), type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadArtifactError(artifact, f"{MANIFEST_NAME}: {error}") from None
    if manifest.format != FORMAT:
        problem = f"is of format {manifest.format}; this Fleetlane reads format {FORMAT}"
        raise BadArtifactError(artifact, problem)
    return manifest


def sha256_of_file(path: Path) -> str:
    """An artifact's digest, as flows are published with it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class FlowArtifact(msgspec.Struct, frozen=True, kw_only=True):
    """The artifact of all rules of an owner's flows that write ``use``. Unknown fields are ignored.

    ``key`` is below ``parsers/<owner>/``, where the owner alone writes; ``sha256`` is the zip's.
    """

    owner: str
    use: str
    key: Annotated[str, Meta(max_length=1024)]
    sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]


def artifact_key(owner: str, manifest: Manifest) -> str:
    """Where an owner's artifact is put: one place a name and version.

    Raises ``BadNameError`` where the owner is no name like ``acme-sensors``: it can have no place.
    """
    name = canonicalize_name(manifest.name)
    return f"{owners_prefix(checked_name(owner, kind='owner'))}{name}/{manifest.version}.zip"


def team_rules(flows: Iterable[Flow]) -> Iterator[tuple[str, str]]:
    """Owner and ``use`` of each rule whose parser is no built-in format, each pair once."""
    pairs = ((flow.owner, rule.use) for flow in flows for rule in flow.parsers)
    yield from dict.fromkeys(pair for pair in pairs if is_of_a_team(pair[1]))


def is_of_a_team(use: str) -> bool:
    """Whether a rule's parser comes in an artifact: it is pinned, as no built-in format is."""
    return split_use(use)[1] is not None


def parser_rule_for(
    flow: Flow, *, device_type: str | None, firmware: str | None, canaries: Collection[int] = ()
) -> ParserRule | None:
    """The first of the flow's parser rules for the device; ``None`` where none is, or may be.

    ``canaries`` are those of ``Flow.canaries_for``: no other rule with a share is for it.
    """
    known = flow.parsers if device_type is None or flow.expects(device_type) else ()
    for place, rule in enumerate(known):
        if rule.share is not None and place not in canaries:
            continue
        if rule.device_types is not None and device_type not in rule.device_types:
            continue
        if rule.firmware is None or _is_within(firmware, rule.firmware):
            return rule
    return None


def split_use(use: str) -> tuple[str, str | None]:
    """The parser's name, and its version where one is pinned."""
    name, pinned, version = (part.strip() for part in use.partition("=="))
    return name, version if pinned else None


def is_same_version(one: str, other: str) -> bool:
    """Whether two versions are equal by PEP 440; what is no version equals nothing."""
    try:
        return Version(one) == Version(other)
    except InvalidVersion:
        return False


@lru_cache(maxsize=4096)
def _is_within(firmware: str | None, specifiers: str) -> bool:
    if firmware is None:
        return False
    try:
        return SpecifierSet(specifiers).contains(Version(firmware), prereleases=True)
    except ValueError:  # InvalidVersion, or a number of thousands of digits
        return False
