"""How a command fails: one line on stderr, and exit code 1."""

from typing import Any

import typer
from typer.core import TyperGroup

from fleetlane.events.errors import FleetlaneError


class ErrorsInOneLine(TyperGroup):
    """A group of commands whose expected errors are told without a traceback."""

    def invoke(self, ctx: Any) -> Any:  # typer keeps the type of its context to itself
        try:
            return super().invoke(ctx)
        except FleetlaneError as error:
            typer.echo(f"error: {error}", err=True)
            raise typer.Exit(1) from None
