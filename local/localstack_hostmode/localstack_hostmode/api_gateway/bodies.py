"""Bodies and answers as API Gateway has them: Base64, limits, and the gateway's own answers."""

import base64
import json
from typing import Any

from localstack.aws.chain import HandlerChain
from localstack.http import Response
from localstack.services.apigateway.next_gen.execute_api import gateway_response as errors
from localstack.services.apigateway.next_gen.execute_api.context import RestApiInvocationContext
from localstack.services.apigateway.next_gen.execute_api.handlers import GatewayExceptionHandler
from localstack.services.apigateway.next_gen.execute_api.integrations import aws

from local.gateway.rest_api import EVENT_BYTES_MAX, REQUEST_BYTES_MAX

_HEADER = "gatewayresponse.header."
_TOO_LONG = "Request Too Long"


def check_size(chain: HandlerChain, context: RestApiInvocationContext, response: Response) -> None:
    if len(context.invocation_request["body"] or b"") > REQUEST_BYTES_MAX:
        raise errors.RequestTooLargeError(_TOO_LONG)


def encode_binary_bodies() -> None:
    """Let events for functions hold all bodies in Base64, as ``*/*`` of our API makes them."""
    made = aws.RestApiAwsProxyIntegration.create_lambda_input_event

    def create_lambda_input_event(
        self: aws.RestApiAwsProxyIntegration, context: RestApiInvocationContext
    ) -> dict[str, Any]:
        event: dict[str, Any] = made(self, context)
        if body := context.invocation_request["body"]:
            event |= {"isBase64Encoded": True, "body": base64.b64encode(body).decode()}
        if len(json.dumps(event)) > EVENT_BYTES_MAX:
            raise errors.RequestTooLargeError(_TOO_LONG)
        return event

    aws.RestApiAwsProxyIntegration.create_lambda_input_event = create_lambda_input_event


def honour_templates() -> None:
    """Give the bodies and headers of gateway responses that were deployed.

    Only what is the same for every request: a template with a variable is left to LocalStack.
    """
    made = GatewayExceptionHandler.create_exception_response

    def create_exception_response(
        self: GatewayExceptionHandler,
        exception: errors.BaseGatewayException,
        context: RestApiInvocationContext,
    ) -> Response:
        response = made(self, exception, context)
        deployed = errors.get_gateway_response_or_default(
            exception.type, context.deployment.rest_api.gateway_responses
        )
        template = (deployed.get("responseTemplates") or {}).get("application/json", "$")
        if "$" not in template:
            response.set_data(template)
        for name, value in (deployed.get("responseParameters") or {}).items():
            if name.startswith(_HEADER) and value.startswith("'"):
                response.headers[name.removeprefix(_HEADER)] = value.strip("'")
        return response

    GatewayExceptionHandler.create_exception_response = create_exception_response
