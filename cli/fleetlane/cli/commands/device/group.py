"""``fleetlane device``: all that can be done with devices, put together."""

import typer

from fleetlane.cli.commands.device import bulk_import as device_import
from fleetlane.cli.commands.device import erase as device_erase
from fleetlane.cli.commands.device import register as device
from fleetlane.cli.commands.device import show as device_looks
from fleetlane.cli.commands.device import trust as device_trust

app = typer.Typer(
    help="Register devices, look at them, hold them back; sign their tokens.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command("add")(device.add)
app.command("import")(device_import.import_devices)
app.command("list")(device_looks.list_devices)
app.command("show")(device_looks.show)
app.command("rotate")(device.rotate)
app.command("quarantine")(device_trust.quarantine)
app.command("revoke")(device_trust.revoke)
app.command("release")(device_trust.release)
app.command("rate-limit")(device_trust.rate_limit)
app.command("erase")(device_erase.erase)
app.command("token")(device.token)
