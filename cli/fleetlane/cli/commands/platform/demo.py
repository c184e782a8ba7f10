"""``fleetlane demo``: the whole platform under a simulated fleet, and the proof that it holds."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from fleetlane.cli.commands.platform.demo_screen import ProgressShown, ledger_table
from fleetlane.cli.commands.platform.interruption import INTERRUPTED, sigterm_as_ctrl_c
from fleetlane.cli.output.steps import StepsShown
from local.demo.demo import DemoEvents, DemoProgress, DemoResult, DemoSettings, run_demo
from operations.lanes.tally import Delays


def demo(
    *,
    devices: Annotated[int, typer.Option(min=100, help="How many devices send.")] = 2_000,
    seed: Annotated[int, typer.Option(help="Equal seeds make equal fleets.")] = 1,
) -> None:
    """Run the platform under a simulated fleet, and prove by id that nothing was lost.

    The ledger is written to build/demo/ledger.json; exit code 1: a message was lost or
    invented. Nothing is left running.
    """
    settings = DemoSettings(devices=devices, seed=seed)
    try:
        with sigterm_as_ctrl_c():
            result = _run(settings)
    except KeyboardInterrupt:
        typer.echo("stopped; nothing is left running", err=True)
        raise typer.Exit(INTERRUPTED) from None
    _show(result, settings)
    if not result.ledger.is_balanced:
        raise typer.Exit(1)


def commands_to_try(data: Path) -> list[str]:
    """Three commands that look at what a demonstration left in its data folder."""
    canonical = "./fleetlane tail canonical.weather --from-beginning --limit 3"
    parked = "./fleetlane tail parked --from-beginning --limit 3"
    return [f"{command} --data {data}" for command in ("./fleetlane up", canonical, parked)]


def _run(settings: DemoSettings) -> DemoResult:
    notes = Console(stderr=True)
    with StepsShown(notes) as steps, ProgressShown(notes) as shown:

        def on_progress(progress: DemoProgress) -> None:
            steps.finish()
            shown(progress)

        def on_restart(name: str) -> None:
            notes.print(f"{name} died; it is started again")

        events = DemoEvents(on_step=steps, on_progress=on_progress, on_restart=on_restart)
        return run_demo(settings, events)


def _show(result: DemoResult, settings: DemoSettings) -> None:
    for line in (*result.surprises, *result.ledger.findings.lines()):
        typer.echo(line, err=True)
    Console().print(ledger_table(result.ledger))
    typer.echo(result.runaway.line())
    typer.echo(f"others, arrival to parsed: before it {_shown(result.others_before)};")
    typer.echo(f"  until it was quarantined {_shown(result.others_during)}")
    typer.echo(f"written to {_from_here(settings.ledger_path)}")
    typer.echo("\nTry next, the last two in another terminal:")
    for command in commands_to_try(_from_here(settings.data)):
        typer.echo(f"  {command}")
    if result.report is not None:
        typer.echo(f"\nThe fleet, as a page: {_from_here(result.report)}")
    typer.echo(f"\n{result.ledger.line()}")


def _shown(delays: Delays | None) -> str:
    return "nothing" if delays is None else str(delays)


def _from_here(path: Path) -> Path:
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
