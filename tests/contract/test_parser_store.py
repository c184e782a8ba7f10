"""Parser artifacts in S3, here moto's."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from clients.flows.parser_store import (
    ArtifactChangedError,
    ArtifactMissingError,
    ArtifactUnavailableError,
    ParserStore,
    VersionTakenError,
)
from fleetlane.events.flows.artifacts import BadArtifactError, FlowArtifact, sha256_of_file
from fleetlane.events.names import BadNameError
from tests.contract.aws_in_process import buckets
from tests.team_artifacts import team_artifact

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

KEY = "parsers/water-works/tank-level/1.0.zip"


@pytest.fixture
def s3() -> "Iterator[S3Client]":
    with buckets("flows") as s3:
        yield s3


@pytest.fixture
def store(s3: "S3Client") -> ParserStore:
    return ParserStore(s3, "flows")


@pytest.fixture
def zipped(tmp_path: Path) -> Path:
    return team_artifact(tmp_path, "tank-level==1.0")


def test_an_artifact_is_put_below_its_owner_by_name_and_version(
    store: ParserStore, zipped: Path
) -> None:
    key = store.deploy(zipped, owner="water-works").key

    assert key == KEY
    assert list(store.keys("water-works")) == [KEY]
    assert list(store.keys("water")) == []


def test_what_a_flow_writes_leads_to_the_artifact(store: ParserStore, zipped: Path) -> None:
    store.deploy(zipped, owner="water-works")

    found = store.offering("water-works", "tank-level==1.0.0")

    assert found == FlowArtifact(
        owner="water-works", use="tank-level==1.0.0", key=KEY, sha256=sha256_of_file(zipped)
    )


@pytest.mark.parametrize(
    ("owner", "use"),
    [
        ("others", "tank-level==1.0"),
        ("water-works", "tank-level==1.1"),
        ("water-works", "tank-levels==1.0"),
    ],
)
def test_what_nobody_of_that_name_deployed_is_not_found(
    store: ParserStore, zipped: Path, owner: str, use: str
) -> None:
    store.deploy(zipped, owner="water-works")

    assert store.offering(owner, use) is None


def test_deploying_the_same_again_changes_nothing(store: ParserStore, zipped: Path) -> None:
    deployed = [store.deploy(zipped, owner="water-works") for _ in range(2)]

    assert [(one.key, one.is_new) for one in deployed] == [(KEY, True), (KEY, False)]


def test_other_bytes_of_the_same_version_are_refused_and_the_first_stay(
    store: ParserStore, zipped: Path, tmp_path: Path
) -> None:
    store.deploy(zipped, owner="water-works")
    before = store.offering("water-works", "tank-level==1.0")
    other = team_artifact(tmp_path / "other", "tank-level==1.0", "class Parser: ...")

    with pytest.raises(VersionTakenError, match="raise the package's version"):
        store.deploy(other, owner="water-works")

    assert store.offering("water-works", "tank-level==1.0") == before


def test_what_is_no_artifact_is_not_deployed(store: ParserStore, tmp_path: Path) -> None:
    wheel = tmp_path / "tank.whl"
    wheel.write_bytes(b"PK?")

    with pytest.raises(BadArtifactError, match="is not a whole zip file"):
        store.deploy(wheel, owner="water-works")

    assert list(store.keys("water-works")) == []


def test_an_owner_is_a_name_and_no_path(store: ParserStore, zipped: Path) -> None:
    with pytest.raises(BadNameError, match=r"owner '\.\./others'"):
        store.deploy(zipped, owner="../others")


def test_an_artifact_is_fetched_as_it_was_deployed(
    store: ParserStore, zipped: Path, tmp_path: Path
) -> None:
    artifact = _deployed(store, zipped)

    store.fetch(artifact, tmp_path / "fetched.zip")

    assert (tmp_path / "fetched.zip").read_bytes() == zipped.read_bytes()
    assert store.manifest(artifact).offers("tank-level==1.0")


def test_other_bytes_than_were_published_are_refused(
    store: ParserStore, zipped: Path, tmp_path: Path
) -> None:
    other = msgspec.structs.replace(_deployed(store, zipped), sha256="0" * 64)

    with pytest.raises(ArtifactChangedError, match="published with 0000"):
        store.fetch(other, tmp_path / "fetched.zip")


def test_an_artifact_that_is_gone_is_distinguished_from_an_outage(
    store: ParserStore, s3: "S3Client", zipped: Path, tmp_path: Path
) -> None:
    artifact = _deployed(store, zipped)
    s3.delete_object(Bucket="flows", Key=artifact.key)

    with pytest.raises(ArtifactMissingError):
        store.fetch(artifact, tmp_path / "fetched.zip")
    with pytest.raises(ArtifactUnavailableError, match="NoSuchBucket"):
        ParserStore(s3, "not-there").fetch(artifact, tmp_path / "fetched.zip")


def test_s3_answers_for_an_artifact_that_is_gone_and_for_none_where_its_bucket_is_not(
    store: ParserStore, s3: "S3Client", zipped: Path
) -> None:
    artifact = _deployed(store, zipped)
    s3.delete_object(Bucket="flows", Key=artifact.key)

    answers = [one.answers(artifact) for one in (store, ParserStore(s3, "not-there"))]

    assert answers == [True, False]


def test_an_artifact_that_comes_too_slowly_is_not_waited_for(
    s3: "S3Client", zipped: Path, tmp_path: Path
) -> None:
    store = ParserStore(s3, "flows", body_s_max=-1)
    artifact = FlowArtifact(owner="o", use="t==1", key="parsers/o/t/1.zip", sha256="0" * 64)
    s3.put_object(Bucket="flows", Key=artifact.key, Body=zipped.read_bytes())

    with pytest.raises(ArtifactUnavailableError, match="it comes too slowly"):
        store.fetch(artifact, tmp_path / "fetched.zip")


def _deployed(store: ParserStore, zipped: Path) -> FlowArtifact:
    store.deploy(zipped, owner="water-works")
    found = store.offering("water-works", "tank-level==1.0")
    assert found is not None
    return found
