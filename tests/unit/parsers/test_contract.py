import pickle

from fleetlane.events.errors import ParkedReason
from fleetlane.parsers.contract import MalformedMessage


def test_malformed_message_crosses_a_process() -> None:
    error = MalformedMessage("7 bytes; readings are 6 bytes each")

    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes

    assert (type(copy), str(copy)) == (MalformedMessage, "7 bytes; readings are 6 bytes each")


def test_malformed_message_is_parked_as_malformed() -> None:
    reason = MalformedMessage.reason

    assert reason == ParkedReason.MALFORMED
