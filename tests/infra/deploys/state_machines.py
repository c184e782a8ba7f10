"""The states of Amazon's language that the templates use, run one after the other."""

from collections.abc import Callable, Generator, Iterator, Mapping
from datetime import datetime
from typing import Any
from uuid import uuid4

type Call = Callable[[str, Mapping[str, Any]], Any]
"""A task's resource and its parameters; gives its result, or raises ``StatesError``."""


class StatesError(Exception):
    """What a task failed with, by the name that a machine catches it by."""

    def __init__(self, name: str, cause: str = "") -> None:
        super().__init__(name, cause)
        self.name, self.cause = name, cause


def executed(
    definition: Mapping[str, Any], given: Any, *, call: Call, now: Callable[[], datetime]
) -> Iterator[float]:
    """Run a machine, and yield how many seconds it waits, as often as it does.

    Raises:
        StatesError: It failed.
        NotImplementedError: It has something that no template had before.
    """
    name = definition["StartAt"]
    while True:
        state = definition["States"][name]
        entered = now().isoformat().replace("+00:00", "Z")
        match state["Type"]:
            case "Succeed":
                return
            case "Choice":
                name = _chosen(state, given, entered)
                continue
            case "Task":
                following, given = yield from _tried(state, given, call)
            case kind:
                raise NotImplementedError(kind)
        if following is None:
            return
        name = following


def _tried(
    state: Mapping[str, Any], given: Any, call: Call
) -> Generator[float, None, tuple[str | None, Any]]:
    parameters = _filled(state["Parameters"], given) if "Parameters" in state else given
    tries = 0
    while True:
        try:
            return state.get("Next"), call(state["Resource"], parameters)
        except StatesError as problem:
            retry = _matching(state.get("Retry", ()), problem)
            if retry is not None and tries < retry.get("MaxAttempts", 3):
                tries += 1
                yield retry.get("IntervalSeconds", 1)
                continue
            caught = _matching(state.get("Catch", ()), problem)
            if caught is None:
                raise
            return caught["Next"], {"Error": problem.name, "Cause": problem.cause}


def _matching(rules: Any, problem: StatesError) -> Any:
    names = {problem.name, "States.ALL", "States.TaskFailed"}
    return next((rule for rule in rules if names & set(rule["ErrorEquals"])), None)


def _chosen(state: Mapping[str, Any], given: Any, entered: str) -> str:
    for rule in state["Choices"]:
        found = _at(rule["Variable"], given)
        if "IsPresent" in rule:
            holds = (found is not None) == rule["IsPresent"]
        elif "TimestampGreaterThanPath" in rule:
            assert rule["TimestampGreaterThanPath"] == "$$.State.EnteredTime"
            holds = datetime.fromisoformat(found) > datetime.fromisoformat(entered)
        else:
            raise NotImplementedError(rule)
        if holds:
            return str(rule["Next"])
    return str(state["Default"])


def _at(path: str, given: Any) -> Any:
    """The value at ``$.a.b[0]``; ``None`` where there is none."""
    for word in path.removeprefix("$").replace("[", ".").replace("]", "").split(".")[1:]:
        try:
            given = given[int(word) if isinstance(given, list) else word]
        except (KeyError, IndexError):
            return None
    return given


def _filled(template: Any, given: Any) -> Any:
    match template:
        case dict():
            return dict(_entry(name, value, given) for name, value in template.items())
        case list():
            return [_filled(one, given) for one in template]
        case _:
            return template


def _entry(name: str, value: Any, given: Any) -> tuple[str, Any]:
    if not name.endswith(".$"):
        return name, _filled(value, given)
    filled = str(uuid4()) if value == "States.UUID()" else _at(value, given)
    return name.removesuffix(".$"), filled
