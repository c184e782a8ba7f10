"""Fetches the broker's jars and Spark's connector with the Ivy that pyspark ships."""

from __future__ import annotations

import shutil
from pathlib import Path

from local.setup import java
from local.setup.steps import Checkout, Step, key_of
from local.setup.tools import CannotSetUpError, Condense, Tool

DEFINITION = Path(__file__).with_name("ivy.xml")
SETTINGS = Path(__file__).with_name("ivysettings.xml")
CONFIGURATIONS = ("broker", "spark", "laptop", "msk", "rehearsal")


def step(checkout: Checkout) -> Step:
    return Step(
        title="jars of Kafka, Spark's connector and Iceberg into build/jars (about 190 MB)",
        folder=checkout.build / "jars",
        key=key_of([DEFINITION, SETTINGS]),
        make=lambda: _fetch(checkout, checkout.build / "jars"),
    )


def _fetch(checkout: Checkout, target: Path) -> None:
    """Fill ``target``, a folder a configuration; made beside it, so that no old jar is left.

    Ivy caches what it fetched in ~/.ivy2, for all checkouts; an interrupted fetch goes on there.
    """
    fresh = target.with_name("jars.new")
    pattern = f"{fresh}/[conf]/[artifact]-[revision](-[classifier]).[ext]"
    shutil.rmtree(fresh, ignore_errors=True)
    Tool(
        name="Ivy",
        command=[
            *(str(java.executable(checkout) or "java"), "-jar", str(_ivy_jar(checkout))),
            *("-settings", str(SETTINGS), "-ivy", str(DEFINITION)),
            *("-confs", *CONFIGURATIONS, "-retrieve", pattern),
        ],
        environment=checkout.environment,
        log=checkout.logs / "jars.log",
        condense=counted(),
    ).run()
    shutil.rmtree(target, ignore_errors=True)
    fresh.rename(target)


def counted() -> Condense:
    """A line for each jar that was downloaded, numbered; nothing for one that was cached."""
    count = 0

    def condense(line: str) -> str | None:
        nonlocal count
        if "[SUCCESSFUL ]" not in line:
            return None
        count += 1
        coordinates = line.split("]", 1)[1].split("!", 1)[0].strip()
        return f"{count:3} {coordinates.partition('#')[2].replace(';', ' ')}"

    return condense


def _ivy_jar(checkout: Checkout) -> Path:
    shipped = sorted(checkout.venv.glob("lib/python*/site-packages/pyspark/jars/ivy-*.jar"))
    if not shipped:
        raise CannotSetUpError(
            "pyspark in .venv ships no Ivy", "remove .venv and run the same command again"
        )
    return shipped[-1]
