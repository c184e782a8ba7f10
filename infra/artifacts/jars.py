"""The jars that the jobs bring: an engine has no Kafka connector, or one that dies at a restart."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from infra.artifacts.archive import Artifact, artifact_at
from infra.artifacts.failures import CannotBuildError

_FETCHED: Final = ("build/jars/spark", "build/jars/aws", "build/jars/msk")
"""Spark's connector and Iceberg, how that reaches AWS, and how Kafka logs in to Amazon MSK.

local/setup/ivy.xml has their versions.
"""


def write_jars(root: Path, folder: Path) -> Iterator[Artifact]:
    """Copy the jars that the set-up fetched, byte for byte; ``folder`` holds no others then.

    Raises:
        CannotBuildError: They were not fetched.
    """
    jars = [jar for place in _FETCHED for jar in _jars_in(root, place)]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for jar in jars:
        yield artifact_at(Path(shutil.copyfile(jar, folder / jar.name)))


def _jars_in(root: Path, place: str) -> list[Path]:
    jars = sorted((root / place).glob("*.jar"))
    if not jars:
        raise CannotBuildError(place, "holds no jar", "run `make platform`, which fetches them")
    return jars
