"""What can be set up, and which steps that takes, in order."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from typing import Callable

from local.setup import java, packages
from local.setup.steps import Checkout, Step, key_of
from local.setup.tools import run_tool


def platform_steps(checkout: Checkout) -> list[Step]:
    """For running the platform: Java, the environment, the jars and LocalStack."""
    last = [java.jars_step(checkout), packages.localstack_step(checkout)]
    return [java.step(checkout), packages.environment_step(checkout), *last]


def cloud_steps(checkout: Checkout) -> list[Step]:
    """For tests and a deploy of the local stage: the platform, and the CDK's command line.

    What makes starts quicker is here: it takes as long as a demo gains by eight of them.
    """
    return [*platform_steps(checkout), java.classes_step(checkout), cdk_step(checkout)]


GOALS: Mapping[str, Callable[[Checkout], Sequence[Step]]] = {
    "cloud": cloud_steps,
    "environment": lambda checkout: [packages.environment_step(checkout)],
    "platform": platform_steps,
}


def cdk_step(checkout: Checkout) -> Step:
    """Makes build/cdk hold what ``infra/cdk/package-lock.json`` says, and nothing else."""
    project, target = checkout.root / "infra" / "cdk", checkout.build / "cdk"
    definition = [project / "package.json", project / "package-lock.json"]

    def install() -> None:
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        for file in definition:
            shutil.copy(file, target)
        bin_folder = checkout.venv / "bin"
        path = os.pathsep.join((str(bin_folder), checkout.environment.get("PATH", os.defpath)))
        npm = [str(bin_folder / "npm"), "ci", "--prefix", str(target)]
        run_tool(
            "npm",
            [*npm, "--no-audit", "--no-fund", "--no-update-notifier"],
            environment={**checkout.environment, "PATH": path},
            log=checkout.logs / "cdk.log",
        )

    title = "the CDK's command line into build/cdk (about 8 MB)"
    return Step(title=title, folder=target, key=key_of(definition), make=install)
