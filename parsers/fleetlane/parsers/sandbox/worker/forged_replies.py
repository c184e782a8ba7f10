"""What a child sends that is not by our code in it."""

from fleetlane.events.errors import FleetlaneError


class ForgedReplyError(FleetlaneError):
    """What came from a child is nothing that our code in it would send: its parser meddled."""

    reason = "forged_reply"
    problem: str
    sentence = "the parser's process sent {problem}"
