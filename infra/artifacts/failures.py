"""Why a build fails: the file, what is wrong with it, and what to do."""

from fleetlane.events.errors import FleetlaneError


class CannotBuildError(FleetlaneError):
    """An artifact could not be built. Those before it are whole; running again is safe."""

    reason = "cannot_build"
    subject: str
    problem: str
    remedy: str
    sentence = "{subject}: {problem}; {remedy}"


class ArtifactTooLargeError(FleetlaneError):
    """An artifact is over its limit; nothing of it was written."""

    reason = "artifact_too_large"
    subject: str
    size_bytes: int
    limit_bytes: int
    sentence = (
        "{subject} would hold {size_bytes} bytes; the limit is {limit_bytes}:"
        " take out what it does not import, or its package from its group in pyproject.toml"
    )
