"""The resources of our API, and which of them a request is for."""

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One method of one resource. A public one needs no authorizer."""

    method: str
    path: str
    function: str = "ingest"
    is_public: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """The resource that a request is for, and the values of its path parameters."""

    resource: Resource
    parameters: dict[str, str]


RESOURCES: Final = (
    Resource(method="POST", path="/v1/streams/{stream}"),
    Resource(method="POST", path="/v1/fast/{stream}"),
    Resource(method="POST", path="/v1/batch"),
    Resource(method="POST", path="/v1/uploads/{stream}", function="uploads"),
    Resource(method="GET", path="/v1/health", is_public=True),
)

_PATTERNS: Final = tuple(
    (resource, re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", resource.path)))
    for resource in RESOURCES
)


def matched(method: str, path: str) -> Match | None:
    """Find the resource; ``path`` is as sent, not decoded."""
    for resource, pattern in _PATTERNS:
        found = pattern.fullmatch(path)
        if found is not None and resource.method == method:
            return Match(resource=resource, parameters=found.groupdict())
    return None
