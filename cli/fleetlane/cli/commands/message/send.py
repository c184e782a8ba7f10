"""``fleetlane send``: one message, as a device sends it."""

import io
import json
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import DownloadColumn, Progress

from clients.device_api import message_url, sent, upload_form, uploaded
from fleetlane.cli.commands.device.keys import DeviceKeys
from fleetlane.cli.options.stage import PlatformOptions
from fleetlane.events.lanes import REQUEST_BODY_BYTES_MAX, Lane

_TOKEN_LIFETIME_S = 300


def send(
    stream: Annotated[str, typer.Argument(metavar="STREAM", help="The message's stream.")],
    file: Annotated[
        typer.FileBinaryRead,
        typer.Argument(metavar="FILE", lazy=True, help="The body; - is stdin."),
    ],
    *,
    device: Annotated[str, typer.Option(metavar="ID", help="The device to send as.")],
    fast: Annotated[bool, typer.Option("--fast", help="Use the fast endpoint.")] = False,
    upload: Annotated[
        bool, typer.Option("--upload", help="Upload it to S3, as messages above 4.5 MB are.")
    ] = False,
    content_type: Annotated[str, typer.Option(help="Content-Type.")] = "application/octet-stream",
    idempotency_key: Annotated[
        str | None, typer.Option(help="Idempotency-Key: sending it again changes nothing.")
    ] = None,
    firmware: Annotated[str | None, typer.Option(help="The device's firmware version.")] = None,
    where: PlatformOptions,
) -> None:
    """Send a message as a device does, and print its receipt (JSON).

    Exit code 1: it was refused, or no answer came.
    """
    api, lane = where.platform().resources.api_url, Lane.FAST if fast else Lane.STANDARD
    token = DeviceKeys(where.folder, where.stage).token(device, lifetime_s=_TOKEN_LIFETIME_S)
    headers = request_headers(
        token, content_type=content_type, idempotency_key=idempotency_key, firmware=firmware
    )
    body = file.read()
    if upload or len(body) > REQUEST_BODY_BYTES_MAX:
        receipt = _uploaded(api, stream, body, headers)
    else:
        receipt = sent(message_url(api, stream, lane), body, headers)
    typer.echo(json.dumps(receipt))


def request_headers(
    token: str, *, content_type: str, idempotency_key: str | None, firmware: str | None
) -> dict[str, str]:
    """Headers of a message; those that were not given are left out."""
    optional = {"Idempotency-Key": idempotency_key, "X-Firmware-Version": firmware}
    given = {name: value for name, value in optional.items() if value is not None}
    return {"Authorization": f"Bearer {token}", "Content-Type": content_type, **given}


def _uploaded(api: str, stream: str, body: bytes, headers: dict[str, str]) -> dict[str, object]:
    """Both steps of an upload, the second with a progress bar on stderr."""
    form = upload_form(api, stream, body, headers)
    columns = (*Progress.get_default_columns(), DownloadColumn())
    with (
        Progress(*columns, console=Console(stderr=True), transient=True) as progress,
        progress.wrap_file(io.BytesIO(body), len(body), description=stream) as watched,
    ):
        return uploaded(form, watched)
