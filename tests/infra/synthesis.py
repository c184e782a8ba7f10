"""The CDK app, run as ``cdk`` runs it, and what came of it."""

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fleetlane.events.flows.artifacts import ANY_PLATFORM
from fleetlane.parsers.artifacts.writing import Package, write_artifact
from infra.artifacts.folder import ENVIRONMENT, PYTHON

ROOT = Path(__file__).resolve().parents[2]
FUNCTIONS = (
    "authorizer",
    "canary",
    "flow_activation",
    "ingest",
    "job_restarts",
    "respool",
    "uploads",
)
TIMEOUT_S = 900
POLICIES = ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy")
"""A role's own, and what does not fit into it any more."""

LINT_EXCEPTIONS = (
    "W3005",  # CDK writes every dependency out, those that follow from a reference too
    "W3010",  # zones are given, so that synthesis needs no look-up
)

type Template = Mapping[str, Any]
type Resource = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesized:
    """The templates of one stage, by the last word of their stacks' names.

    ``imported`` are the packages that were imported for them, whenever that was.
    """

    folder: Path
    templates: Mapping[str, Template]
    imported: frozenset[str]

    @property
    def stage(self) -> str:
        [parameter, *_] = self.resources("AWS::SSM::Parameter").values()
        return str(parameter["Properties"]["Name"].split("/")[2])

    def resources(self, kind: str, *, of: str | None = None) -> dict[str, Resource]:
        """All resources of a type, in one stack or in all."""
        return {
            name: resource
            for stack, name, resource in self.all_resources()
            if resource["Type"] == kind and of in (None, stack)
        }

    def all_resources(self) -> Iterator[tuple[str, str, Resource]]:
        for stack, template in self.templates.items():
            for name, resource in template["Resources"].items():
                yield stack, name, resource


def run_app(
    context: Mapping[str, str], out: Path, *, lists_imports: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run the app without credentials, with the context of ``cdk.json`` and this one.

    The stage ``options`` has all on that is off by default; others are of the published table.
    """
    app = "app_with_options" if context.get("stage") == "options" else "app_as_published"
    given = json.loads((ROOT / "cdk.json").read_text())["context"]
    given |= {"alarm_email": "on-call@example.com"} | dict(context)
    tools = Path(sys.executable).parent  # node is there
    variables = {
        "PATH": f"{tools}{os.pathsep}{os.defpath}",
        "CDK_CONTEXT_JSON": json.dumps(given),
        "CDK_OUTDIR": str(out),
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
    } | ({"PYTHONPROFILEIMPORTTIME": "1"} if lists_imports else {})
    settings = [f"{name}={value}" for name, value in variables.items()]
    return subprocess.run(
        ["/usr/bin/env", *settings, sys.executable, "-m", f"tests.infra.{app}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


def synthesized(folder: Path, *, import_times: str = "") -> Synthesized:
    paths = sorted(folder.glob("*.template.json"))
    templates = {
        path.name.removesuffix(".template.json").rsplit("-", 1)[1]: json.loads(path.read_text())
        for path in paths
    }
    lines = (line for line in import_times.splitlines() if line.startswith("import time:"))
    modules = (line.rpartition("|")[2].strip() for line in lines)
    imported = frozenset(module.partition(".")[0] for module in modules)
    return Synthesized(folder=folder, templates=templates, imported=imported)


def lint_said(folder: Path) -> str:
    """What cfn-lint has to say of the templates of a stage: nothing, if all is well."""
    lint = subprocess.run(
        [
            str(Path(sys.executable).parent / "cfn-lint"),
            *("--regions", "eu-central-1", "--ignore-checks", *LINT_EXCEPTIONS, "--template"),
            *map(str, sorted(folder.glob("*.template.json"))),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    return lint.stdout + lint.stderr


def write_example_parsers(folder: Path) -> None:
    """An artifact that offers what the repository's flows name, and holds no code."""
    parsers = {"acme-thermo": "nothing:Thermo", "acme-vibration": "nothing:Vibration"}
    package = Package(name="acme-sensors", version="1.2.0", parsers=parsers, platform=ANY_PLATFORM)
    target = folder / "parsers" / "acme-sensors" / "acme-sensors" / "1.2.0.zip"
    target.parent.mkdir(parents=True)
    write_artifact(folder, package, {"nothing.py": b""}).rename(target)


def write_stand_ins(folder: Path) -> None:
    """Tiny files where ``make artifacts`` puts large ones."""
    packages = ("fleetlane-packages", "fleetlane-packages.gluewheels")
    jobs = ("fleetlane-jobs", "fleetlane-environment", *packages)
    names = [*(f"functions/{name}" for name in FUNCTIONS), *(f"jobs/{name}" for name in jobs)]
    names.append("fleetlane-operators")
    for name in names:
        path = folder / f"{name}.zip"
        path.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("stand_in.txt", name)
    with zipfile.ZipFile(folder / "jobs" / ENVIRONMENT, "a") as environment:
        environment.writestr(PYTHON, b"")
    write_example_parsers(folder)
    (folder / "jobs" / "host.py").write_text("")
    (folder / "jobs" / "jars").mkdir()
    for jar in ("connector", "iceberg-spark-runtime", "login"):
        (folder / "jobs" / "jars" / f"{jar}-1.0.jar").write_text(jar)
