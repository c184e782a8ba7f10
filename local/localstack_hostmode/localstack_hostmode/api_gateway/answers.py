"""Answers of the gateway's own, as the API says that they are to be."""

from localstack.http import Response
from localstack.services.apigateway.next_gen.execute_api.context import RestApiInvocationContext
from localstack.services.apigateway.next_gen.execute_api.gateway_response import (
    BaseGatewayException,
    get_gateway_response_or_default,
)
from localstack.services.apigateway.next_gen.execute_api.handlers.gateway_exception import (
    GatewayExceptionHandler,
)

_HEADER = "gatewayresponse.header."


def honour_templates() -> None:
    """Give the bodies and headers of gateway responses that were deployed.

    Only what is the same for every request: a template with a variable is left to LocalStack.
    """
    made = GatewayExceptionHandler.create_exception_response

    def create_exception_response(
        self: GatewayExceptionHandler,
        exception: BaseGatewayException,
        context: RestApiInvocationContext,
    ) -> Response:
        response = made(self, exception, context)
        deployed = get_gateway_response_or_default(
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
