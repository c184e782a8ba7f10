"""A stack as CloudFormation deploys it: in the order of its dependencies, and back if it fails."""

import json
from collections.abc import Iterator, Mapping
from graphlib import TopologicalSorter
from typing import Any, Final

from tests.infra.deploys.emr import EmrApplication
from tests.infra.deploys.state_machines import StatesError
from tests.infra.deploys.world import World

type Resources = Mapping[str, Mapping[str, Any]]

_JOB: Final = "AWS::Glue::Job"
_EMR: Final = "AWS::EMRServerless::Application"
_MACHINE: Final = "AWS::StepFunctions::StateMachine"
_RULE: Final = "AWS::Events::Rule"
_CUSTOM: Final = ("Custom::RestartedJob", "Custom::RestedApplication")
_KINDS: Final = (_JOB, _EMR, _MACHINE, _RULE, *_CUSTOM)


class InterruptedDeployError(Exception):
    """The deploy came no further than this resource."""


class Stack:
    """What of a template makes jobs run; everything else is taken as deployed."""

    def __init__(self, world: World, *, waiter: str) -> None:
        self._world, self._waiter = world, waiter
        self.deployed: dict[str, Mapping[str, Any]] = {}

    def deploy(self, template: Mapping[str, Any], *, fails_after: str = "") -> str:
        """Deploy a version; gives why it failed and went back, or nothing.

        ``fails_after`` is the beginning of a resource's name: something else fails right then.
        """
        before, wanted = dict(self.deployed), _resolved(template["Resources"])
        touched: list[str] = []
        try:
            for name in _in_order(wanted):
                self._bring(name, wanted[name], touched)
                if fails_after and name.startswith(fails_after) and name in touched:
                    raise InterruptedDeployError(f"something else failed after {name}")
        except (StatesError, InterruptedDeployError) as problem:
            self._go_back(before, wanted, touched)
            return str(problem.args[-1])
        for name in reversed([*before]):
            if name not in wanted:
                self._delete(name, before[name])
        return ""

    def destroy(self) -> None:
        for name in reversed([*self.deployed]):
            self._delete(name, self.deployed[name])

    def _go_back(self, before: Resources, wanted: Resources, touched: list[str]) -> None:
        self._world.is_going_back = True
        for name in before:
            if name in touched:
                self._bring(name, before[name], [], is_forced=True)
        for name in reversed(touched):
            if name not in before:
                self._delete(name, wanted[name])
        self._world.is_going_back = False

    def _bring(
        self, name: str, wanted: Mapping[str, Any], touched: list[str], *, is_forced: bool = False
    ) -> None:
        now = self.deployed.get(name)
        if wanted == now and not is_forced:
            return
        touched.append(name)
        self._world.pass_(self._world.tick_s)
        kind, given = wanted["Type"], wanted["Properties"]
        is_new = now is None
        self.deployed[name] = wanted
        if kind == _JOB:
            self._world.engine.jobs[given["Name"]] = given
        elif kind == _EMR and is_new:
            made = EmrApplication(id=name, name=given["Name"], settings=given)
            self._world.engine.applications[name] = made
        elif kind == _EMR:
            self._world.engine.change(name, given)
        elif kind == _MACHINE:
            self._world.machines[name] = json.loads(given["DefinitionString"])
        elif kind == _RULE:
            self._world.rules[name] = given
        elif kind in _CUSTOM:
            self._ask("Create" if is_new else "Update", name, wanted)

    def _delete(self, name: str, wanted: Mapping[str, Any]) -> None:
        kind, given = wanted["Type"], wanted["Properties"]
        del self.deployed[name]
        if kind in _CUSTOM:
            self._ask("Delete", name, wanted)
        elif kind == _JOB:
            assert not self._world.engine.alive(given["Name"]), "a run without its job"
            del self._world.engine.jobs[given["Name"]]
        elif kind == _EMR:
            state = self._world.engine.applications.pop(name).state
            assert state in {"CREATED", "STOPPED"}, "EMR deletes no application that is started"
        elif kind == _RULE:
            del self._world.rules[name]

    def _ask(self, request: str, name: str, wanted: Mapping[str, Any]) -> None:
        event = {
            "RequestType": request,
            "ResourceType": wanted["Type"],
            "LogicalResourceId": name,
            "StackId": "the-stack",
            "ResourceProperties": wanted["Properties"],
        }
        self._world.custom_resource(event, self._world.machines[self._waiter])


def _in_order(resources: Resources) -> Iterator[str]:
    """Those of our kinds, each after all that it depends on, through others too."""
    sorter = TopologicalSorter({name: one["After"] for name, one in resources.items()})
    return (name for name in sorter.static_order() if resources[name]["Type"] in _KINDS)


def _resolved(resources: Resources) -> dict[str, Mapping[str, Any]]:
    named = {
        name: one["Properties"]["Name"] for name, one in resources.items() if one["Type"] == _JOB
    }
    return {
        name: {
            "Type": one["Type"],
            "Properties": _text(one.get("Properties", {}), named),
            "After": sorted(
                {*_listed(one.get("DependsOn", ())), *_referred(one)} & resources.keys()
            ),
        }
        for name, one in resources.items()
    }


def _text(value: Any, named: Mapping[str, str]) -> Any:
    """A value with its references written as the names of what they refer to."""
    match value:
        case {"Ref": str(name)} | {"Fn::GetAtt": [str(name), *_]} | {"Fn::ImportValue": str(name)}:
            return named.get(name, name)
        case {"Fn::Join": [str(between), list(parts)]}:
            return between.join(str(_text(part, named)) for part in parts)
        case dict():
            return {name: _text(one, named) for name, one in value.items()}
        case list():
            return [_text(one, named) for one in value]
        case _:
            return value


def _referred(value: Any) -> Iterator[str]:
    match value:
        case {"Ref": str(name)} | {"Fn::GetAtt": [str(name), *_]}:
            yield name
        case dict():
            for one in value.values():
                yield from _referred(one)
        case list():
            for one in value:
                yield from _referred(one)
        case _:
            return


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)
