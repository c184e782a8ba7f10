"""``fleetlane send``: one message, as a device sends it."""

import io
import json
from contextlib import closing
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.progress import DownloadColumn, Progress

from clients.device_api import message_url, sent, upload_form, uploaded
from fleetlane.cli.commands.device.keys import DeviceKeys
from fleetlane.cli.options.stage import PlatformOptions
from fleetlane.cli.output.tables import escaped
from fleetlane.cli.output.waiting import counted, effect_on_interrupt
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.lanes import REQUEST_BODY_BYTES_MAX, Lane
from fleetlane.events.metadata import Outcome
from fleetlane.events.times import now_ms, time_text
from operations.messages.trace import TRACED_TOPICS, MessageTrace, awaited_trace
from operations.replay.plans import CLOCKS_APART_MS_MAX

_TOKEN_LIFETIME_S = 300


class NoOutcomeError(FleetlaneError):
    """A message that was accepted had not ended when waiting for it did. It is not lost."""

    raw_id: str
    wait_s: float
    sentence = "no outcome within {wait_s:g} s: `fleetlane why {raw_id}` shows it later"


class MessageParkedError(FleetlaneError):
    """A message that was accepted could not be parsed."""

    why: str
    detail: str
    raw_id: str
    sentence = "parked as {why}: {detail}; `fleetlane parked show {raw_id}` has the bytes"


def send(
    stream: Annotated[str, typer.Argument(help="The message's stream.")],
    file: Annotated[typer.FileBinaryRead, typer.Argument(lazy=True, help="The body; - is stdin.")],
    *,
    device: Annotated[str, typer.Option(metavar="ID", help="The device to send as.")],
    fast: Annotated[bool, typer.Option(help="Use the fast endpoint.")] = False,
    upload: Annotated[
        bool, typer.Option(help="Upload it to S3, as messages above 4.5 MB are.")
    ] = False,
    content_type: Annotated[str, typer.Option(help="Content-Type.")] = "application/octet-stream",
    idempotency_key: Annotated[
        str | None, typer.Option(help="Idempotency-Key: sending it again changes nothing.")
    ] = None,
    firmware: Annotated[str | None, typer.Option(help="The device's firmware version.")] = None,
    wait: Annotated[bool, typer.Option(help="Wait for its events, or why it was parked.")] = False,
    wait_s: Annotated[
        float, typer.Option("--wait-seconds", min=0, help="Wait no longer than this.")
    ] = 60.0,
    where: PlatformOptions,
) -> None:
    """Send a message as a device does, and print its receipt (JSON).

    With --wait also when it was accepted, stored and parsed, and its events. Exit code 1: it
    was refused, no answer came, or --wait saw it parked, or did not see it end.
    """
    platform, sent_ms = where.platform(), now_ms()
    api, lane = platform.resources.api_url, Lane.FAST if fast else Lane.STANDARD
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
    given, raw_id = receipt.get("notices"), str(receipt["id"])
    notices = given if isinstance(given, list) else []
    if "no_flow" in notices:
        typer.echo(no_flow_note(stream), err=True)
    if wait:
        since_ms = 0 if "repeated" in notices else max(0, sent_ms - CLOCKS_APART_MS_MAX)
        with (
            effect_on_interrupt(lambda: f"{raw_id} is accepted; `fleetlane why` follows it"),
            counted(f"waiting for {raw_id}"),
            closing(platform.messages.reader(TRACED_TOPICS, since_ms=since_ms)) as reader,
        ):
            trace = awaited_trace(reader, raw_id, wait_s=wait_s)
        show_outcome(trace, wait_s)


def no_flow_note(stream: str) -> str:
    return (
        f"note: stream {stream} has no flow: its messages are kept, and parked as no_flow."
        f" `fleetlane flow new {stream}` begins one; once it is published,"
        f" `fleetlane parked replay --flow {stream}` parses them"
    )


def show_outcome(trace: MessageTrace, wait_s: float) -> None:
    """Print each step, and its events as JSON.

    Raises ``MessageParkedError`` or ``NoOutcomeError`` where it has none.
    """
    for at_ms, step in trace.steps():
        typer.echo(f"{time_text(at_ms)}  {escaped(step)}")
    for _, event in trace.events:
        typer.echo(escaped(msgspec.json.encode(event).decode()))
    if not trace.has_ended:
        raise NoOutcomeError(trace.raw_id, wait_s)
    if trace.best is not None and trace.best.outcome is Outcome.PARKED:
        parked, _ = trace.parked[-1]
        raise MessageParkedError(parked.reason, parked.detail, trace.raw_id)


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
