"""The ``fleetlane`` command: all its nouns."""

import typer

from fleetlane.cli.commands.device import group as device_commands
from fleetlane.cli.commands.fleet import questions as fleet
from fleetlane.cli.commands.flow import group as flow
from fleetlane.cli.commands.lake import upkeep as lake
from fleetlane.cli.commands.message import replay, send, tail, unblock, why
from fleetlane.cli.commands.parked import group as parked_commands
from fleetlane.cli.commands.parser import group as parser
from fleetlane.cli.commands.platform import demo, doctor, status, up
from fleetlane.cli.errors import ErrorsInOneLine

app = typer.Typer(
    cls=ErrorsInOneLine,
    help="Fleetlane: telemetry ingestion for device fleets, whole on this machine.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("up")(up.up)
app.command("demo")(demo.demo)
app.add_typer(device_commands.app, name="device")
app.command("doctor")(doctor.doctor)
app.add_typer(fleet.app, name="fleet")
app.add_typer(flow.app, name="flow")
app.add_typer(lake.app, name="lake")
app.add_typer(parked_commands.app, name="parked")
app.add_typer(parser.app, name="parser")
app.command("replay")(replay.replay)
app.command("send")(send.send)
app.command("status")(status.status)
app.command("tail")(tail.tail)
app.command("unblock")(unblock.unblock)
app.command("why")(why.why)

if __name__ == "__main__":
    app()
