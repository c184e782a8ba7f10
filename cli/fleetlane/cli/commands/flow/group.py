"""``fleetlane flow``: all its verbs."""

import typer

from fleetlane.cli.commands.flow import check as flow_check
from fleetlane.cli.commands.flow import list_versions as flow_list
from fleetlane.cli.commands.flow import new as flow_new
from fleetlane.cli.commands.flow import publish as flow_publish

app = typer.Typer(
    help="Flows: begin one, check them, put them into force, roll back.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command("new")(flow_new.new)
app.command("check")(flow_check.check)
app.command("publish")(flow_publish.publish)
app.command("list")(flow_list.versions)
