"""How a JVM runs here that lives for minutes, not for months."""

from typing import Final

SHORT_LIVED: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Half the CPU of a start, of Spark's and of Kafka's. For tests and the laptop; what is measured
runs with all compilers, as in AWS."""
