import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

from fleetlane.events.flows.files import PublishedFlows, WantedVersion
from fleetlane.events.s3_keys import owners_version_key, wanted_key
from infra.artifacts.folder import Artifacts
from infra.constructs.functions.flow_publication import deployed_flows
from tests.infra.synthesis import ROOT, Resource, Synthesized, run_app, synthesized

pytestmark = pytest.mark.cdk


def _ours(artifacts_folder: Path) -> PublishedFlows:
    return deployed_flows(ROOT / "flows", Artifacts(folder=artifacts_folder))


def _activated(stage: Synthesized) -> Resource:
    [resource] = stage.resources("Custom::ActivatedFlows", of="processing").values()
    return resource


def _uploads(stage: Synthesized) -> dict[str, Resource]:
    return stage.resources("Custom::CDKBucketDeployment", of="processing")


def _uploads_to(stage: Synthesized, prefix: str) -> dict[str, Resource]:
    return {
        name: one
        for name, one in _uploads(stage).items()
        if one["Properties"]["DestinationBucketKeyPrefix"].startswith(prefix)
    }


def _uploaded(stage: Synthesized, prefix: str) -> dict[str, bytes]:
    """What is uploaded below a prefix: bytes by their keys in the bucket."""
    [upload] = _uploads_to(stage, prefix).values()
    properties = upload["Properties"]
    below = PurePosixPath(properties["DestinationBucketKeyPrefix"])
    return {
        str(below / path.relative_to(folder).as_posix()): path.read_bytes()
        for zipped in properties["SourceObjectKeys"]
        for folder in [stage.folder / f"asset.{zipped.removesuffix('.zip')}"]
        for path in folder.rglob("*")
        if path.is_file()
    }


def _differences(one: object, other: object, path: str = "") -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for name in one:
            yield from _differences(one[name], other[name], f"{path}/{name}")
    elif one != other:
        yield path


def test_the_repositorys_flows_are_uploaded_as_the_store_would_write_them(
    cloud_stage: Synthesized, artifacts_folder: Path
) -> None:
    uploaded, ours = _uploaded(cloud_stage, "flows"), _ours(artifacts_folder)
    expected = {owner: ours.of_owner(owner) for owner in {flow.owner for flow in ours.flows}}

    assert uploaded == {
        key: content
        for owner, one in expected.items()
        for key, content in (
            (owners_version_key(owner, one.version), one.to_json()),
            (wanted_key(owner), WantedVersion(one.version).to_json()),
        )
    }


def test_the_owners_whose_flows_are_uploaded_are_activated(
    cloud_stage: Synthesized, artifacts_folder: Path
) -> None:
    properties, ours = _activated(cloud_stage)["Properties"], _ours(artifacts_folder)

    assert properties["owners"] == sorted({flow.owner for flow in ours.flows})
    assert properties["version"] == ours.version


def test_the_artifacts_of_the_parsers_are_uploaded_where_the_flows_say(
    cloud_stage: Synthesized, artifacts_folder: Path
) -> None:
    uploaded, ours = _uploaded(cloud_stage, "parsers"), _ours(artifacts_folder)

    digests = {key: hashlib.sha256(data).hexdigest() for key, data in uploaded.items()}
    assert digests == {one.key: one.sha256 for one in ours.artifacts}


def test_another_flow_is_another_version_and_changes_nothing_else(
    dev: Synthesized, artifacts_folder: Path, tmp_path: Path
) -> None:
    flows, out = tmp_path / "flows", tmp_path / "out"
    shutil.copytree(ROOT / "flows", flows)
    flow = flows / "gps.toml"
    flow.write_text(flow.read_text() + "[upload]\nsmear_s = 7\n")
    [upload] = _uploads_to(dev, "flows")
    [activated] = dev.resources("Custom::ActivatedFlows")

    run_app({"stage": "dev", "artifacts": str(artifacts_folder), "flows": str(flows)}, out)

    changed = synthesized(out).templates
    assert set(_differences(dev.templates, changed)) == {
        f"/processing/Resources/{upload}/Properties/SourceObjectKeys",
        f"/processing/Resources/{activated}/Properties/version",
    }


def test_a_version_is_activated_when_it_is_there_and_the_jobs_know_its_parsers(
    cloud_stage: Synthesized,
) -> None:
    after = set(_activated(cloud_stage)["DependsOn"])
    [upload] = _uploads_to(cloud_stage, "flows")
    [parsers] = _uploads_to(cloud_stage, "parsers")
    restarts = cloud_stage.resources("Custom::RestartedJob").keys()

    assert restarts
    assert {upload, parsers, *restarts} <= after


def test_an_artifact_takes_another_s_place_when_the_jobs_have_restarted(
    cloud_stage: Synthesized,
) -> None:
    [parsers] = _uploads_to(cloud_stage, "parsers").values()

    assert cloud_stage.resources("Custom::RestartedJob").keys() <= set(parsers["DependsOn"])


def test_the_topics_and_the_function_are_there_before(cloud_stage: Synthesized) -> None:
    manifest = json.loads((cloud_stage.folder / "manifest.json").read_text())["artifacts"]
    [processing] = [one for one in manifest if one.endswith("-processing")]
    before = {name.rsplit("-", 1)[1] for name in manifest[processing]["dependencies"]}

    assert {"streaming", "ingest"} <= before


def test_versions_before_are_kept(cloud_stage: Synthesized) -> None:
    kept = {
        (one["Properties"]["Prune"], one["Properties"]["RetainOnDelete"])
        for one in _uploads(cloud_stage).values()
    }

    assert kept == {(False, True)}


def test_the_local_stage_leaves_publishing_to_the_laptop(local: Synthesized) -> None:
    kinds = {resource["Type"] for _, _, resource in local.all_resources()}

    assert {kind for kind in kinds if kind.startswith("Custom::")} == {"Custom::EmptiedBucket"}
