"""The table of stages as it is published: without what whoever deploys a stage sets in it."""

from typing import Any, Final

from infra.stages import settings_of

AS_PUBLISHED: Final[dict[str, Any]] = {
    "account": None,
    "alarm_email": None,
    "pipeline_repository": None,
    "has_operator_host": False,
}
"""What docs/first-day.md has somebody set: the tests must hold in that checkout, too."""


def published_settings_of(name: str) -> dict[str, Any]:
    """As ``settings_of``, of the table as it is published."""
    return settings_of(name) | AS_PUBLISHED
