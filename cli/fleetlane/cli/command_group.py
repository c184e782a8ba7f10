"""Groups of commands, each loaded when it is called: help stays quick, and works by itself.

A command may take a dataclass of options; typer sees each of its fields.
"""

import ast
import inspect
from collections import UserDict
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from functools import wraps
from importlib import import_module
from importlib.util import find_spec
from inspect import Parameter
from pathlib import Path
from typing import Any, Final

import typer
from typer.core import TyperGroup

from fleetlane.events.errors import FleetlaneError

_COMMANDS: Final = "fleetlane.cli.commands"
_PLATFORM: Final = frozenset({"clients", "glue_jobs", "infra", "lambdas", "local", "operations"})


class PlatformNotInstalledError(FleetlaneError):
    """The command was installed by itself, without the platform."""

    sentence = "this command needs the platform: install fleetlane[platform], from a checkout"


def _loaded(place: str, name: str) -> Any:
    """Import a command; raises ``ModuleNotFoundError`` where its platform is missing."""
    module, _, function = place.partition(":")
    loaded = import_module(f"{_COMMANDS}.{module}")
    alone = _typer()
    alone.command(name)(with_single_options(getattr(loaded, function)))
    command = typer.main.get_command(alone)
    for one in command.params:
        if one.default is False:  # a flag that is off unless it is given needs no --no-…
            one.secondary_opts = []
    _describe(command.params)
    return command


def _describe(parameters: list[Any]) -> None:
    """Say in words what each is: typer would name Python's types, and write ranges as ``x>=1``."""
    for one in parameters:
        kind = one.type
        is_number = kind.name.startswith(("integer", "float"))
        shown = one.metavar or ("N" if is_number else one.name.rpartition("_")[2].upper())
        if one.param_type_name == "argument":
            one.metavar = shown
            usage = shown if one.required or shown.startswith("[") else f"[{shown}]"
            names = {False: shown, True: usage}
            vars(one)["make_metavar"] = lambda ctx, usage=False, names=names: names[usage]
        elif not one.is_flag and kind.name != "choice":
            one.metavar = shown
        if not kind.name.endswith("range"):
            continue
        vars(kind)["_describe_range"] = lambda: ""
        match kind.min, kind.max:
            case None | 0, None:
                continue
            case low, None:
                one.help += f" At least {low:,}."
            case low, high:
                one.help += f" From {low:,} to {high:,}."


class Commands(UserDict[str, Any]):
    """Commands by name; one of ``module:function`` is imported when it is taken out."""

    def __getitem__(self, name: str) -> Any:
        entry = self.data[name]
        if isinstance(entry, str):
            self.data[name] = _loaded(entry, name)
        elif isinstance(entry, typer.Typer):
            self.data[name] = typer.main.get_command(entry)
        return self.data[name]

    def help_of(self, name: str) -> str:
        entry = self.data[name]
        if not isinstance(entry, str):
            return str(self[name].get_short_help_str(limit=100))
        needed, described = _read(entry)
        if any(find_spec(package) is None for package in needed):
            return "(needs fleetlane[platform])"
        alone = _typer()
        alone.command(name, help=described)(lambda: None)
        return str(typer.main.get_command(alone).get_short_help_str(limit=100))


def _read(place: str) -> tuple[set[str], str]:
    """The platform's packages that a command's module imports, and the command's docstring.

    Read rather than imported: help for ten commands would load all that they need.
    """
    module, _, function = place.partition(":")
    path = Path(__file__).parent / "commands" / f"{module.replace('.', '/')}.py"
    body = ast.parse(path.read_bytes()).body
    imported = {(one.module or "").partition(".")[0] for one in body if type(one) is ast.ImportFrom}
    (described,) = (one for one in body if type(one) is ast.FunctionDef and one.name == function)
    return imported & _PLATFORM, ast.get_docstring(described) or ""


def group(help_text: str, table: Mapping[str, str | typer.Typer]) -> typer.Typer:
    """A group of commands, each ``module:function`` below the commands' package, or of groups.

    Expected errors are one line on stderr, and exit code 1.
    """

    class Group(TyperGroup):
        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            self.commands: Any = Commands(table)

        def format_commands(self, ctx: Any, formatter: Any) -> None:
            with formatter.section("Commands"):
                formatter.write_dl([(name, self.commands.help_of(name)) for name in table])

        def invoke(self, ctx: Any) -> Any:  # typer keeps the type of its context to itself
            try:
                return super().invoke(ctx)
            except BrokenPipeError:  # typer ends `| head` quietly
                raise
            except ModuleNotFoundError as error:
                if (error.name or "").partition(".")[0] not in _PLATFORM:
                    raise
                refusal = str(PlatformNotInstalledError())
            except (FleetlaneError, OSError) as error:
                refusal = str(error)
            from fleetlane.cli.output.tables import escaped  # noqa: PLC0415 - help needs none

            shown = "\n".join(map(escaped, refusal.split("\n")))  # it may quote a device
            typer.echo(f"error: {shown}", err=True)
            raise typer.Exit(1)

    made = _typer(cls=Group, help=help_text, no_args_is_help=True)
    made.callback()(lambda: None)
    return made


def with_single_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each parameter that is a dataclass by its fields, in its place."""
    signature = inspect.signature(command, eval_str=True)
    groups = {
        name: (kind, inspect.signature(kind, eval_str=True).parameters)
        for name, one in signature.parameters.items()
        if isinstance(kind := one.annotation, type) and is_dataclass(kind)
    }
    single: list[Parameter] = []
    for name, one in signature.parameters.items():
        single += groups[name][1].values() if name in groups else [one]

    @wraps(command)
    def called(**given: Any) -> None:
        for name, (kind, fields) in groups.items():
            given[name] = kind(**{field: given.pop(field) for field in fields})
        command(**given)

    options = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in single]
    vars(called)["__signature__"] = inspect.Signature(options)
    called.__annotations__ = {one.name: one.annotation for one in options}
    return called


def _typer(**settings: Any) -> typer.Typer:
    return typer.Typer(
        rich_markup_mode=None,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        **settings,
    )
