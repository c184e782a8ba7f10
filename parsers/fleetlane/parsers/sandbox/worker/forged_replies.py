"""What a child sends that is not by our code in it."""

from fleetlane.events.errors import FleetlaneError


class ForgedReplyError(FleetlaneError):
    """What came from a child is nothing that our code in it would send: its parser meddled."""

    reason = "forged_reply"

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        return f"the parser's process sent {self.problem}"
