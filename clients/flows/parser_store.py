"""Parser artifacts in S3, below a prefix an owner: put once, never changed, fetched by digest."""

import base64
import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from clients.aws import S3Client
from clients.bucket_objects import BucketObjects
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.flows import artifacts
from fleetlane.events.s3_keys import owners_prefix

BODY_S_MAX: Final = 300.0
"""So long the largest artifact takes at a mebibyte a second, as who deploys may have."""


class ArtifactUnavailableError(FleetlaneError):
    """S3 does not answer, or this machine has no room. Trying again later may succeed."""

    key: str
    problem: str
    sentence = "{key} cannot be reached: {problem}"


class ArtifactMissingError(FleetlaneError):
    """There is no such object."""

    key: str
    sentence = "there is no {key}; `fleetlane parser deploy` puts it there"


class ArtifactChangedError(FleetlaneError):
    """The object is not the one that the flows were published with."""

    key: str
    found: str
    wanted: str
    sentence = "{key} has {found}; the flows were published with {wanted}"


class VersionTakenError(FleetlaneError):
    """Another artifact of this name and version is there, and artifacts never change."""

    key: str
    sentence = "{key} already exists with other bytes, and stays; raise the package's version"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployed:
    """Where an artifact is, and whether it was put there only now."""

    key: str
    is_new: bool


class ParserStore:
    """Artifacts under ``parsers/`` of a bucket. ``s3`` is a client with bounded waits.

    They bound the wait for a piece of an artifact; ``body_s_max`` bounds that for all of one.
    All but ``answers`` raise ``ArtifactUnavailableError`` where S3 does not answer: call again.
    """

    def __init__(self, s3: S3Client, bucket: str, *, body_s_max: float = BODY_S_MAX) -> None:
        self._s3, self._bucket, self._body_s_max = s3, bucket, body_s_max
        self._objects = BucketObjects(s3, bucket, ArtifactUnavailableError)

    def deploy(self, path: Path, *, owner: str) -> Deployed:
        """Put an artifact into its owner's place. Once more changes nothing.

        Raises ``BadArtifactError`` or ``BadNameError`` for a file or an owner that is none, and
        ``VersionTakenError`` where other bytes have this name and version.
        """
        key = artifacts.artifact_key(owner, artifacts.read_manifest(path, artifact=str(path)))
        sha256 = artifacts.sha256_of_file(path)
        digest = base64.b64encode(bytes.fromhex(sha256)).decode()
        with path.open("rb") as body:
            written = self._objects.put_in_place_of(
                None, key, body, ChecksumAlgorithm="SHA256", ChecksumSHA256=digest
            )
        if written is None:
            with tempfile.TemporaryDirectory() as folder:
                if self._fetched(key, Path(folder) / "artifact.zip") != sha256:
                    raise VersionTakenError(key)
        return Deployed(key=key, is_new=written is not None)

    def fetch(self, artifact: artifacts.FlowArtifact, path: Path) -> None:
        """Write an artifact into a file, once its digest was found to be the published one.

        Raises:
            ArtifactMissingError: There is no such object.
            ArtifactChangedError: It has another digest, or is larger than any artifact. The file
                may hold a part of it.
        """
        _check(artifact, self._fetched(artifact.key, path))

    def answers(self, artifact: artifacts.FlowArtifact) -> bool:
        """Whether S3 answers at all, by asking it for the name of an artifact, not its bytes."""
        try:
            next(self._objects.listed(artifact.key), None)
        except ArtifactUnavailableError:
            return False
        return True

    def manifest(self, artifact: artifacts.FlowArtifact) -> artifacts.Manifest:
        """Read a published artifact's manifest; raises as ``fetch``, and ``BadArtifactError``."""
        sha256, manifest = self._read(artifact.key)
        _check(artifact, sha256)
        return manifest

    def offering(self, owner: str, use: str) -> artifacts.FlowArtifact | None:
        """Find an owner's artifact with a flow's ``name==version``; raises ``BadArtifactError``."""
        _, version = artifacts.split_use(use)
        for key in self.keys(owner):
            if artifacts.is_same_version(Path(key).name.removesuffix(".zip"), version or ""):
                sha256, manifest = self._read(key)
                if manifest.offers(use):
                    return artifacts.FlowArtifact(owner=owner, use=use, key=key, sha256=sha256)
        return None

    def keys(self, owner: str) -> Iterator[str]:
        yield from (one["Key"] for one in self._objects.listed(owners_prefix(owner)))

    def _read(self, key: str) -> tuple[str, artifacts.Manifest]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "artifact.zip"
            sha256 = self._fetched(key, path)
            return sha256, artifacts.read_manifest(path, artifact=key)

    def _fetched(self, key: str, path: Path) -> str:
        """Write an object into a file, piece by piece, and return its digest."""
        sha256 = self._objects.ask(key, lambda: self._copied(key, path))
        if sha256 is None:
            raise ArtifactMissingError(key)
        return sha256

    def _copied(self, key: str, path: Path) -> str:
        digest, size_bytes = hashlib.sha256(), 0
        answer = self._s3.get_object(Bucket=self._bucket, Key=key)
        with closing(answer["Body"]) as body, path.open("wb") as file:
            for piece in self._objects.pieces(key, body, within_s=self._body_s_max):
                size_bytes += len(piece)
                if size_bytes > 2 * artifacts.ARTIFACT_BYTES_MAX:
                    most = f"{2 * artifacts.ARTIFACT_BYTES_MAX} at most"
                    raise ArtifactChangedError(key, f"over {size_bytes} bytes", most)
                digest.update(piece)
                file.write(piece)
        return digest.hexdigest()


def _check(artifact: artifacts.FlowArtifact, sha256: str) -> None:
    if sha256 != artifact.sha256:
        raise ArtifactChangedError(artifact.key, f"SHA-256 {sha256}", artifact.sha256)
