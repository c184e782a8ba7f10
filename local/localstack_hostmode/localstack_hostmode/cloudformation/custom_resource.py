"""``AWS::CloudFormation::CustomResource`` and ``Custom::*``: a function does what is asked."""

import json
import uuid
from queue import Empty, SimpleQueue
from typing import Any, ClassVar

from localstack.config import internal_service_url
from localstack.services.cloudformation import resource_provider as cfn
from localstack.services.edge import ROUTER

CUSTOM_RESOURCE = "AWS::CloudFormation::CustomResource"
_ANSWER_TIMEOUT_S = 120.0

type _Model = dict[str, Any]


class CustomResourceProvider(cfn.ResourceProvider):  # type: ignore[misc]
    """Calls the function that ``ServiceToken`` names, and takes what it PUTs as the answer."""

    TYPE = CUSTOM_RESOURCE
    SCHEMA: ClassVar[_Model] = {
        "typeName": TYPE,
        "primaryIdentifier": ["/properties/PhysicalResourceId"],
    }

    def create(self, request: cfn.ResourceRequest) -> cfn.ProgressEvent:
        return _asked(request, "Create")

    def update(self, request: cfn.ResourceRequest) -> cfn.ProgressEvent:
        return _asked(request, "Update", old=dict(request.previous_state or {}))

    def delete(self, request: cfn.ResourceRequest) -> cfn.ProgressEvent:
        return _asked(request, "Delete")


class CustomResourcePlugin(cfn.CloudFormationResourceProviderPlugin):  # type: ignore[misc]
    """The entry point by which CloudFormation finds the provider, for ``Custom::*`` too."""

    name = CUSTOM_RESOURCE
    factory = CustomResourceProvider


def _asked(
    request: cfn.ResourceRequest, kind: str, *, old: _Model | None = None
) -> cfn.ProgressEvent:
    model = dict(request.desired_state)
    known_id = (old or {}).get("PhysicalResourceId") or model.pop("PhysicalResourceId", None)
    event: _Model = {
        "RequestType": kind,
        "RequestId": str(uuid.uuid4()),
        "StackId": request.stack_id,
        "LogicalResourceId": request.logical_resource_id,
        "ResourceType": request.resource_type,
        "ServiceToken": model["ServiceToken"],
        "ResourceProperties": _texts(model),
        **({} if known_id is None else {"PhysicalResourceId": known_id}),
        **({} if old is None else {"OldResourceProperties": _texts(old)}),
    }
    answer = _exchanged(request, event)
    if answer.get("Status") != "SUCCESS":
        message = answer.get("Reason", "its function gave no reason")
        return cfn.ProgressEvent(cfn.OperationStatus.FAILED, resource_model=model, message=message)
    model |= answer.get("Data") or {}
    model["PhysicalResourceId"] = answer.get("PhysicalResourceId") or known_id
    remains = {} if kind == "Delete" else model
    return cfn.ProgressEvent(cfn.OperationStatus.SUCCESS, resource_model=remains)


def _exchanged(request: cfn.ResourceRequest, event: _Model) -> _Model:
    """Call the function with a place to PUT its answer, and wait for that."""
    answers: SimpleQueue[_Model] = SimpleQueue()
    path = f"/_answers/{event['RequestId']}"
    route = ROUTER.add(path, lambda put: answers.put(put.get_json(force=True)), methods=["PUT"])
    try:
        result = request.aws_client_factory.lambda_.invoke(
            FunctionName=event["ServiceToken"],
            Payload=json.dumps(event | {"ResponseURL": internal_service_url() + path}).encode(),
        )
        if result.get("FunctionError"):
            return {"Status": "FAILED", "Reason": result["Payload"].read().decode()[:500]}
        return answers.get(timeout=_ANSWER_TIMEOUT_S)
    except Empty:
        return {"Status": "FAILED", "Reason": f"no answer came within {_ANSWER_TIMEOUT_S:g} s"}
    finally:
        ROUTER.remove(route)


def _texts(value: Any) -> Any:
    """CloudFormation hands every scalar to a custom resource as text."""
    if isinstance(value, dict):
        return {name: _texts(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_texts(item) for item in value]
    return str(value).lower() if isinstance(value, bool) else str(value)
