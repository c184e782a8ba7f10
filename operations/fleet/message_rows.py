"""One message in the lake: the tables that have rows of it."""

from typing import Final

from fleetlane.events.lake.queries import queries
from operations.fleet.questions import Question, ValueCell, cells, numbers
from operations.fleet.wording import moment_short

MESSAGE_ROWS: Final = Question(
    name="message_rows",
    title="Rows of the message in the lake",
    sql=queries(__package__, "message_rows.sql")["message_rows"],
    columns={
        **cells(name="table", stream="stream", first_day="first day", last_day="last day"),
        "last (UTC)": ValueCell("last_ms", moment_short),
        **numbers(revision="revision", rows="rows"),
    },
    text_columns=5,
    empty="The lake has nothing of a message with this id that arrived in the last {days} days.",
)
