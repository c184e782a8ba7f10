"""Groups of options: a command takes a dataclass, and typer sees each of its fields."""

import inspect
from collections.abc import Callable
from dataclasses import is_dataclass
from functools import wraps
from inspect import Parameter
from typing import Any


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
