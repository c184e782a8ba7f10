"""``AWS::ApiGateway::Authorizer``."""

from typing import Any, ClassVar

from localstack.services.cloudformation import resource_provider as cfn

_TTL = "authorizerResultTtlInSeconds"
_ARGUMENTS = ("authorizerUri", "authorizerCredentials", "identitySource", _TTL)


class AuthorizerProvider(cfn.ResourceProvider):  # type: ignore[misc]
    """Makes and removes Lambda authorizers of the type REQUEST; no deploy changes one."""

    TYPE = "AWS::ApiGateway::Authorizer"
    SCHEMA: ClassVar[dict[str, Any]] = {
        "typeName": TYPE,
        "createOnlyProperties": ["/properties/RestApiId"],
        "primaryIdentifier": ["/properties/RestApiId", "/properties/AuthorizerId"],
    }

    def create(self, request: cfn.ResourceRequest) -> cfn.ProgressEvent:
        model = request.desired_state
        if model["Type"] != "REQUEST":
            message = f"an authorizer of the type {model['Type']} is not supported; REQUEST is"
            failed = cfn.OperationStatus.FAILED
            return cfn.ProgressEvent(failed, resource_model=model, message=message)
        answer = request.aws_client_factory.apigateway.create_authorizer(
            restApiId=model["RestApiId"], name=model["Name"], type="REQUEST", **_arguments(model)
        )
        return _done(model | {"AuthorizerId": answer["id"]})

    def delete(self, request: cfn.ResourceRequest) -> cfn.ProgressEvent:
        model = request.desired_state
        ids = {"restApiId": model["RestApiId"], "authorizerId": model["AuthorizerId"]}
        request.aws_client_factory.apigateway.delete_authorizer(**ids)
        return _done({})


class AuthorizerPlugin(cfn.CloudFormationResourceProviderPlugin):  # type: ignore[misc]
    """The entry point by which CloudFormation finds the provider."""

    name = AuthorizerProvider.TYPE
    factory = AuthorizerProvider


def _arguments(model: dict[str, Any]) -> dict[str, Any]:
    """The properties as API Gateway names them; numbers arrive as text."""
    named = ((name, model.get(name[0].upper() + name[1:])) for name in _ARGUMENTS)
    return {key: int(value) if key == _TTL else value for key, value in named if value is not None}


def _done(model: dict[str, Any]) -> cfn.ProgressEvent:
    return cfn.ProgressEvent(cfn.OperationStatus.SUCCESS, resource_model=model)
