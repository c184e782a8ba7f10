"""Canaries beside what they are to replace: a flow's parser rules with a share."""

from typing import Final

from fleetlane.events.flows.flow import Flow
from fleetlane.events.lake.queries import queries
from operations.fleet.questions import Question, question

_ALIKE: Final = {"messages_min": 100, "differs_by": 0.1, "slower_times": 1.5}


def canaries_of(flow: Flow) -> Question:
    """The question for a flow's canaries; of one that has had no message there is no row.

    Devices in the share beside those that are not, of the kinds (type and firmware) that the canary
    parsed messages of, since it first did. ``proposal`` is what the figures speak for.
    """
    rules = [
        f"({place}, '{rule.use}', {rule.share}, '{rule.share_end}', '{_parsers(rule.use)}')"
        for place, rule in enumerate(flow.parsers)
        if rule.share is not None
    ]
    sql = queries(__package__, "canaries.sql", rules=", ".join(rules) or "(0, '', 0, '', '')")
    return question(
        "canaries",
        sql["canaries"],
        title=f"Canaries of {flow.stream}",
        parameters=_ALIKE | {"stream": flow.stream},
    )


def _parsers(use: str) -> str:
    """What ``parsed`` calls it, as a pattern: a built-in format has the platform's version."""
    return use.replace("==", "@") if "==" in use else f"{use}@%"
