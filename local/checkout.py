"""Paths in this checkout."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
FLOWS: Final = ROOT / "flows"
DATA: Final = ROOT / "build" / "local"
BROKER_JARS: Final = ROOT / "build" / "jars" / "broker"
SPARK_JARS: Final = ROOT / "build" / "jars" / "spark"
LAPTOP_JARS: Final = ROOT / "build" / "jars" / "laptop"
SPARK_CLASSES: Final = ROOT / "build" / "spark-classes"
LOCALSTACK_ENVIRONMENT: Final = ROOT / "build" / "localstack"
UV: Final = ROOT / "build" / "uv" / "bin" / "uv"
"""Of the set-up; where there was one on ``PATH``, that is taken."""
