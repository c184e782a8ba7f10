"""``fleetlane parked``: all that can be done with what could not be parsed, put together."""

import typer

from fleetlane.cli.commands.parked import export as parked_export
from fleetlane.cli.commands.parked import list_and_show as parked_list
from fleetlane.cli.commands.parked import replay as parked_replay

app = typer.Typer(
    help="Look at what could not be parsed, take it out, send it again.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command("list")(parked_list.list_parked)
app.command("show")(parked_list.show)
app.command("replay")(parked_replay.replay_parked)
app.command("export")(parked_export.export)
