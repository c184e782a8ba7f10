"""The CDK's command line, by the npm that the environment brings."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from local.setup.checkout import Checkout
from local.setup.steps import Step, key_of
from local.setup.tools import Tool


def step(checkout: Checkout) -> Step:
    return Step(
        title="the CDK's command line into build/cdk (about 8 MB)",
        folder=checkout.build / "cdk",
        key=key_of(_definition(checkout)),
        make=lambda: _install(checkout, checkout.build / "cdk"),
    )


def _install(checkout: Checkout, target: Path) -> None:
    """Make the folder hold what ``infra/cdk/package-lock.json`` says, and nothing else."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for file in _definition(checkout):
        shutil.copy(file, target)
    bin_folder = checkout.venv / "bin"
    path = os.pathsep.join((str(bin_folder), checkout.environment.get("PATH", os.defpath)))
    npm = [str(bin_folder / "npm"), "ci", "--prefix", str(target)]
    Tool(
        name="npm",
        command=[*npm, "--no-audit", "--no-fund", "--no-update-notifier"],
        environment=checkout.environment_with(PATH=path),
        log=checkout.logs / "cdk.log",
    ).run()


def _definition(checkout: Checkout) -> tuple[Path, Path]:
    project = checkout.root / "infra" / "cdk"
    return project / "package.json", project / "package-lock.json"
