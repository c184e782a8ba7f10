"""Why a build stops, in one sentence: the file, what is wrong with it, and what to do."""

from fleetlane.events.errors import FleetlaneError


class CannotBuildError(FleetlaneError):
    """An artifact could not be built. Those before it are whole; running again is safe."""

    reason = "cannot_build"

    def __init__(self, subject: str, problem: str, remedy: str) -> None:
        super().__init__(subject, problem, remedy)
        self.subject, self.problem, self.remedy = subject, problem, remedy

    def __str__(self) -> str:
        return f"{self.subject}: {self.problem}; {self.remedy}"


class ArtifactTooLargeError(FleetlaneError):
    """An artifact is over its limit; nothing of it was written."""

    reason = "artifact_too_large"

    def __init__(self, subject: str, size_bytes: int, limit_bytes: int) -> None:
        super().__init__(subject, size_bytes, limit_bytes)
        self.subject, self.size_bytes, self.limit_bytes = subject, size_bytes, limit_bytes

    def __str__(self) -> str:
        return (
            f"{self.subject} would hold {self.size_bytes} bytes; the limit is {self.limit_bytes}:"
            " take out what it does not import, or its package from its group in pyproject.toml"
        )
