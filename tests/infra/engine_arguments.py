"""What Glue and EMR start the jobs with, read from a stage's templates."""

import json
from collections.abc import Iterator
from typing import Any

from tests.infra.synthesis import Synthesized


def text(value: Any) -> str:
    """A value of a template with its references written as words."""
    match value:
        case {"Fn::Join": [separator, parts]}:
            return str(separator).join(text(part) for part in parts)
        case {"Fn::ImportValue": str(name)}:
            return name.rsplit(":", 1)[1]
        case dict():
            return "reference"
        case _:
            return str(value)


def emr_submits(stage: Synthesized) -> Iterator[dict[str, Any]]:
    for machine in stage.resources("AWS::StepFunctions::StateMachine").values():
        states = json.loads(text(machine["Properties"]["DefinitionString"]))["States"]
        for state in states.values():
            if state.get("Resource", "").endswith("emrserverless:startJobRun"):
                yield state["Parameters"]["JobDriver"]["SparkSubmit"]


def emr_arguments(stage: Synthesized) -> Iterator[list[str]]:
    for submit in emr_submits(stage):
        yield submit["EntryPointArguments"]


def glue_named_arguments(stage: Synthesized) -> Iterator[dict[str, str]]:
    for job in stage.resources("AWS::Glue::Job").values():
        arguments = job["Properties"]["DefaultArguments"]
        yield {name: text(value) for name, value in arguments.items()}


def glue_arguments(stage: Synthesized) -> Iterator[list[str]]:
    for arguments in glue_named_arguments(stage):
        yield [word for pair in arguments.items() for word in pair]
