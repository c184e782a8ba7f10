"""``fleetlane parser``: all its verbs."""

import typer

from fleetlane.cli import (
    parser_bench,
    parser_build,
    parser_check,
    parser_deploy,
    parser_diff,
    parser_new,
    parser_try,
)

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
