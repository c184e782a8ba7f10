"""The steps of a set-up, in order, and which of them a goal needs."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from local.setup import cdk, jars, java, packages
from local.setup.checkout import Checkout, say
from local.setup.stamps import Stamp


@dataclass(frozen=True)
class Step:
    """Makes one folder. ``title`` says what is downloaded and how much; empty where nothing is."""

    title: str
    stamp: Stamp
    make: Callable[[], None]


@dataclass(frozen=True)
class Plan:
    """Steps in order, and the lock that keeps two set-ups of one checkout apart."""

    steps: Sequence[Step]
    lock: Path


def environment_plan(checkout: Checkout) -> Plan:
    """What the checks need: Python and the packages of uv.lock."""
    return _plan(checkout, [_environment(checkout)])


def platform_plan(checkout: Checkout) -> Plan:
    """What running the platform needs: Java, the environment, the jars and LocalStack."""
    return _plan(checkout, _platform_steps(checkout))


def cloud_plan(checkout: Checkout) -> Plan:
    """What a deploy of the local stage needs: the platform, and the CDK's command line."""
    return _plan(checkout, [*_platform_steps(checkout), _cdk(checkout)])


GOALS: Mapping[str, Callable[[Checkout], Plan]] = {
    "cloud": cloud_plan,
    "environment": environment_plan,
    "platform": platform_plan,
}


def make_ready(plan: Plan) -> None:
    """Take the steps that are not current; returns at once when all are.

    Raises:
        CannotSetUpError: Something is missing. The steps taken so far stay.
    """
    if all(step.stamp.is_current() for step in plan.steps):
        return
    with _alone(plan.lock):
        for step in plan.steps:
            if not step.stamp.is_current():
                _take(step)


def _take(step: Step) -> None:
    if step.title:
        say(f"set-up: {step.title}")
    if step.stamp.is_of_another_place():
        shutil.rmtree(step.stamp.folder)
    step.make()
    step.stamp.write()


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("set-up: another one is at work in this checkout; waiting for it")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _plan(checkout: Checkout, steps: Sequence[Step]) -> Plan:
    return Plan(steps=steps, lock=checkout.logs / "lock")


def _platform_steps(checkout: Checkout) -> list[Step]:
    return [_java(checkout), _environment(checkout), _jars(checkout), _localstack(checkout)]


def _java(checkout: Checkout) -> Step:
    stamp = Stamp(folder=checkout.logs / "java", key=java.key(checkout))
    return Step(title="", stamp=stamp, make=lambda: java.check(checkout))


def _environment(checkout: Checkout) -> Step:
    return Step(
        title="Python packages into .venv (about 560 MB to download when none are cached)",
        stamp=Stamp(folder=checkout.venv, key=packages.environment_key(checkout)),
        make=lambda: packages.sync_environment(checkout),
    )


def _jars(checkout: Checkout) -> Step:
    return Step(
        title="jars of Kafka, Spark's connector and Iceberg into build/jars (about 190 MB)",
        stamp=Stamp(folder=jars.folder(checkout), key=jars.key()),
        make=lambda: jars.fetch(checkout),
    )


def _localstack(checkout: Checkout) -> Step:
    return Step(
        title="LocalStack into build/localstack (about 55 MB)",
        stamp=Stamp(
            folder=packages.localstack_venv(checkout), key=packages.localstack_key(checkout)
        ),
        make=lambda: packages.sync_localstack(checkout),
    )


def _cdk(checkout: Checkout) -> Step:
    return Step(
        title="the CDK's command line into build/cdk (about 8 MB)",
        stamp=Stamp(folder=cdk.folder(checkout), key=cdk.key(checkout)),
        make=lambda: cdk.install(checkout),
    )
