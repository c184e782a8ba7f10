"""``fleetlane parser``: all its verbs."""

import typer

from fleetlane.cli.commands.parser import bench as parser_bench
from fleetlane.cli.commands.parser import build as parser_build
from fleetlane.cli.commands.parser import check as parser_check
from fleetlane.cli.commands.parser import deploy as parser_deploy
from fleetlane.cli.commands.parser import diff as parser_diff
from fleetlane.cli.commands.parser import new as parser_new
from fleetlane.cli.commands.parser import try_message as parser_try

app = typer.Typer(
    help="Write parsers: begin one, try it, test it, build what the jobs run, deploy it.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command("new")(parser_new.new)
app.command("try")(parser_try.try_message)
app.command("test")(parser_check.check)
app.command("bench")(parser_bench.bench)
app.command("build")(parser_build.build)
app.command("deploy")(parser_deploy.deploy)
app.command("diff")(parser_diff.diff)
