"""How a JVM runs here that lives for minutes, not for months."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

SHORT_LIVED: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Half the CPU of a start, of Spark's and of Kafka's. For tests and the laptop; what is measured
runs with all compilers, as in AWS."""

INTERPRETED: Final[Mapping[str, str]] = MappingProxyType(
    {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
)
"""Spark's settings in such a JVM: for the few rows of a batch there, compiling a plan anew takes
far longer than running it."""
