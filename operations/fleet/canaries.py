"""Canaries beside what they are to replace: a flow's parser rules with a share."""

from typing import Final

from fleetlane.events.flows.flow import Flow
from fleetlane.events.lake.queries import queries
from operations.fleet.questions import Question, ValueCell, cells, numbers
from operations.fleet.wording import micros, moment_short, percent

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
    return Question(
        name="canaries",
        title=f"Canaries of {flow.stream}",
        sql=sql["canaries"],
        columns={
            **cells(use="canary", proposal="proposal"),
            **cells(_share, share="share"),
            "since (UTC)": ValueCell("since_ms", moment_short),
            **numbers(devices="devices", messages="messages", others_messages="others' messages"),
            **cells(_share, parked_share="parked", others_parked_share="others' parked"),
            **cells(
                "{:.1f}".format,
                events_a_message="events a message",
                others_events_a_message="others' events",
            ),
            **cells(micros, p95_us="p95", others_p95_us="others' p95"),
        },
        parameters=_ALIKE | {"stream": flow.stream},
        text_columns=2,
        empty="No parser rule of the flow has a share, or none of its devices sent anything.",
    )


def _share(share: float) -> str:
    return percent(share, 1)


def _parsers(use: str) -> str:
    """What ``parsed`` calls it, as a pattern: a built-in format has the platform's version."""
    return use.replace("==", "@") if "==" in use else f"{use}@%"
