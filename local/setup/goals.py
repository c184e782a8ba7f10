"""What can be set up, and which steps that takes, in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Callable

from local.setup import cdk, jars, java, packages
from local.setup.checkout import Checkout
from local.setup.steps import Step


def environment_steps(checkout: Checkout) -> list[Step]:
    """For the checks: Python and the packages of uv.lock."""
    return [packages.environment_step(checkout)]


def platform_steps(checkout: Checkout) -> list[Step]:
    """For running the platform: Java, the environment, the jars and LocalStack."""
    last = [jars.step(checkout), packages.localstack_step(checkout)]
    return [java.step(checkout), *environment_steps(checkout), *last]


def cloud_steps(checkout: Checkout) -> list[Step]:
    """For a deploy of the local stage: the platform, and the CDK's command line."""
    return [*platform_steps(checkout), cdk.step(checkout)]


GOALS: Mapping[str, Callable[[Checkout], Sequence[Step]]] = {
    "cloud": cloud_steps,
    "environment": environment_steps,
    "platform": platform_steps,
}
