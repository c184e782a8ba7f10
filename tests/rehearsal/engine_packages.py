"""The Python packages that an engine's machine has."""

from typing import Final

from infra.artifacts.jobs import ENGINES_BRING

GLUE_PACKAGES: Final = (*ENGINES_BRING, "pandas", "pytz", "tzdata")
"""Glue lists what it brings, our jobs' packages that it need not install among them:
docs.aws.amazon.com/glue/latest/dg/aws-glue-programming-python-libraries.html#glue-modules-provided
"""

EMR_PACKAGES: Final = ()
"""``emr-spark-8.1.0`` does not say what it brings, so nothing is taken for granted."""
