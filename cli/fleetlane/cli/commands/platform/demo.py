"""``fleetlane demo``: the whole platform under a simulated fleet, and the proof that it holds."""

import signal
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from fleetlane.cli.commands.platform.up import sigterm_as_ctrl_c
from fleetlane.cli.output.tables import table_lines
from fleetlane.cli.output.waiting import StepsShown
from local.demo.demo import DATA, LEDGER, REPORT, DemoEvents, DemoProgress, DemoResult, run_demo
from operations.ledger.reconciliation import Ledger

_LINE_EVERY_S: Final = 3.0
_MEANINGS: Final = {
    "accepted": "202s that devices saw",
    "parsed": "became canonical events, and all are there",
    "empty": "valid, but their parser gives no event",
    "parked": "with a reason, bytes untouched",
    "duplicate": "202s for messages that had been sent before",
    "unanswered": "stored, though the device saw no 202",
    "lost": "accepted, but not found",
    "invented": "found, but never sent",
}


def progress_line(progress: DemoProgress) -> str:
    waiting = "" if progress.waiting is None else f", {progress.waiting:,} on their way"
    sent = f"sent {progress.finished:,} of {progress.planned:,}"
    places = ", ".join(f"{number:,} in {place}" for place, number in progress.landed.items())
    landed = f"; accepted: {places}" if places else ""
    return f"{progress.elapsed_s:.0f} s: {sent}{waiting}{landed}"


def ledger_table(ledger: Ledger) -> str:
    """The ledger's numbers, and what each of them means."""
    rows = [(name, f"{getattr(ledger, name):,}", meaning) for name, meaning in _MEANINGS.items()]
    lines = table_lines(("outcome", "messages", "meaning"), rows, right=["messages"])
    return "\n".join([f"The ledger, after {ledger.seconds:.0f} s", *lines])


def demo(
    *,
    devices: Annotated[int, typer.Option(min=100, help="How many devices send.")] = 2_000,
    seed: Annotated[int, typer.Option(help="Equal seeds make equal fleets.")] = 1,
) -> None:
    """Run the platform under a simulated fleet, and prove by id that nothing was lost.

    The ledger is written to build/demo/ledger.json; exit code 1: a message was lost or
    invented. Nothing is left running.
    """
    try:
        with sigterm_as_ctrl_c():
            result = _run(devices, seed)
    except KeyboardInterrupt:
        typer.echo("stopped; nothing is left running", err=True)
        raise typer.Exit(128 + signal.SIGINT) from None
    _show(result)
    if not (result.ledger.is_balanced and result.ledger.accepted):
        raise typer.Exit(1)


def commands_to_try(data: Path) -> list[str]:
    """Three commands that look at what a demonstration left in its data folder."""
    canonical = "./fleetlane tail canonical.weather --from-beginning --limit 3"
    parked = "./fleetlane tail parked --from-beginning --limit 3"
    return [f"{command} --data {data}" for command in ("./fleetlane up", canonical, parked)]


def _run(devices: int, seed: int) -> DemoResult:
    notes, next_line_s = Console(stderr=True), 0.0
    with StepsShown(notes) as steps:

        def on_progress(progress: DemoProgress) -> None:
            nonlocal next_line_s
            steps.close()
            if progress.elapsed_s >= next_line_s:  # what the lanes do, the console shows
                notes.print(progress_line(progress), soft_wrap=True)
                next_line_s = progress.elapsed_s + _LINE_EVERY_S

        events = DemoEvents(
            on_step=steps,
            on_console=lambda address: notes.print(f"console: {address}", soft_wrap=True),
            on_progress=on_progress,
            on_restart=lambda name: notes.print(f"{name} died; it is restarted"),
        )
        return run_demo(events, devices=devices, seed=seed)


def _show(result: DemoResult) -> None:
    for line in (*result.surprises, *result.ledger.findings.lines()):
        typer.echo(line, err=True)
    typer.echo(ledger_table(result.ledger))
    typer.echo(result.runaway.line())
    typer.echo(f"others, arrival to parsed: before it {result.others_before or 'nothing'};")
    typer.echo(f"  until it was quarantined {result.others_during or 'nothing'}")
    typer.echo(f"canary: {result.canaries:,} messages known in advance, all in the ledger above")
    typer.echo(f"written to {_from_here(LEDGER)}")
    typer.echo("\nTry next, the last two in another terminal:")
    for command in commands_to_try(_from_here(DATA)):
        typer.echo(f"  {command}")
    page = _from_here(REPORT)
    typer.echo(f"\nThe fleet, with thirty days made up behind it, as a page: {page}")
    if result.standing is not None:
        for missing in result.standing.missing:
            line = "missing by the standing ledger: {id}: {problem}".format_map(missing)
            typer.echo(line, err=True)
        typer.echo(f"\n{result.standing.line()}")
    typer.echo(f"\n{result.ledger.line()}")


def _from_here(path: Path) -> Path:
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
