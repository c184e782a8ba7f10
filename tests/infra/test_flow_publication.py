import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec

from fleetlane.events.flow_files import PublishedFlows, flows_in, version_key
from tests.infra.synthesis import ROOT, Resource, Synthesized, run_app, synthesized

OURS = PublishedFlows.of(flows_in(ROOT / "flows").values())


def _activated(stage: Synthesized) -> Resource:
    [resource] = stage.resources("Custom::ActivatedFlows", of="processing").values()
    return resource


def _uploads(stage: Synthesized) -> dict[str, Resource]:
    return stage.resources("Custom::CDKBucketDeployment", of="processing")


def _flow_uploads(stage: Synthesized) -> dict[str, Resource]:
    return {
        name: one
        for name, one in _uploads(stage).items()
        if one["Properties"]["DestinationBucketKeyPrefix"].startswith("flows")
    }


def _uploaded(stage: Synthesized) -> dict[str, bytes]:
    """What is uploaded of flows: bytes by their keys in the bucket."""
    [upload] = _flow_uploads(stage).values()
    properties = upload["Properties"]
    [zipped] = properties["SourceObjectKeys"]
    folder = stage.folder / f"asset.{zipped.removesuffix('.zip')}"
    prefix = properties["DestinationBucketKeyPrefix"]
    return {f"{prefix}/{path.name}": path.read_bytes() for path in folder.iterdir()}


def _differences(one: object, other: object, path: str = "") -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for name in one:
            yield from _differences(one[name], other[name], f"{path}/{name}")
    elif one != other:
        yield path


def test_the_repositorys_flows_are_uploaded_as_the_store_would_write_them(
    cloud_stage: Synthesized,
) -> None:
    uploaded = _uploaded(cloud_stage)

    assert uploaded == {version_key(OURS.version): OURS.to_json()}
    assert msgspec.json.decode(*uploaded.values(), type=PublishedFlows) == OURS


def test_the_version_that_is_uploaded_is_activated(cloud_stage: Synthesized) -> None:
    assert _activated(cloud_stage)["Properties"]["version"] == OURS.version


def test_another_flow_is_another_version_and_changes_nothing_else(
    dev: Synthesized, artifacts_folder: Path, tmp_path: Path
) -> None:
    flows, out = tmp_path / "flows", tmp_path / "out"
    shutil.copytree(ROOT / "flows", flows)
    flow = flows / "gps.toml"
    flow.write_text(flow.read_text().replace('owner = "', 'owner = "new ', 1))
    [upload] = _flow_uploads(dev)
    [activated] = dev.resources("Custom::ActivatedFlows")

    run_app({"stage": "dev", "artifacts": str(artifacts_folder), "flows": str(flows)}, out)

    changed = synthesized(out, seconds=0).templates
    assert set(_differences(dev.templates, changed)) == {
        f"/processing/Resources/{upload}/Properties/SourceObjectKeys",
        f"/processing/Resources/{activated}/Properties/version",
    }


def test_a_version_is_activated_when_it_is_there_and_the_jobs_know_its_parsers(
    cloud_stage: Synthesized,
) -> None:
    after = set(_activated(cloud_stage)["DependsOn"])
    [upload] = _flow_uploads(cloud_stage)
    engines = {
        name
        for kind in ("AWS::Glue::Job", "AWS::EMRServerless::Application")
        for name in cloud_stage.resources(kind)
    }

    assert engines
    assert {upload, *engines} <= after


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

    assert not [kind for kind in kinds if kind.startswith("Custom::")]
