"""Calls the Lambda authorizer of an API, and caches its results."""

import json
import logging
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from localstack.aws.chain import HandlerChain
from localstack.http import Response
from localstack.services.apigateway.next_gen.execute_api import gateway_response as errors
from localstack.services.apigateway.next_gen.execute_api import header_utils, helpers
from localstack.services.apigateway.next_gen.execute_api.context import RestApiInvocationContext
from localstack.services.apigateway.next_gen.execute_api.integrations import aws

from local.gateway.rest_api import AuthorizerCache, AuthorizerResult

_LOG = logging.getLogger(__name__)
_TTL_S = 300
_HEADER = "method.request.header."


class Authorization:
    """A handler in the chain of an API's requests, for authorizers of the type REQUEST."""

    def __init__(self) -> None:
        self._cache = AuthorizerCache()

    def __call__(
        self, chain: HandlerChain, context: RestApiInvocationContext, response: Response
    ) -> None:
        """Let the request pass with what the authorizer knows, or raise a gateway's error."""
        method = context.resource_method
        if method.get("authorizationType") != "CUSTOM":
            return
        authorizer = context.deployment.rest_api.authorizers[method["authorizerId"]]
        key = (context.api_id, context.stage, authorizer["id"], *_identity(authorizer, context))
        result = self._cache.get(key)
        if result is None:
            result = _result(authorizer, context)
            ttl_s = int(authorizer.get("authorizerResultTtlInSeconds", _TTL_S))
            self._cache.put(key, result, ttl_s=ttl_s)
        if not result.allows(_method_arn(context)):
            raise errors.AccessDeniedError("User is not authorized to access this resource")
        context.context_variables["authorizer"] = result.context


def _identity(authorizer: Mapping[str, Any], context: RestApiInvocationContext) -> list[str]:
    """The headers that identify a caller; a request without one of them is refused."""
    headers = context.invocation_request["headers"]
    sources = authorizer["identitySource"].split(",")
    found = [headers.get(source.strip().removeprefix(_HEADER)) for source in sources]
    if not all(found):
        raise errors.UnauthorizedError("Unauthorized")
    return found


def _result(authorizer: Mapping[str, Any], context: RestApiInvocationContext) -> AuthorizerResult:
    uri = authorizer["authorizerUri"]
    try:
        content = aws.RestApiAwsProxyIntegration.call_lambda(
            function_arn=helpers.get_lambda_function_arn_from_invocation_uri(uri),
            event=json.dumps(_event(context)).encode(),
            source_arn=f"{_api_arn(context)}/authorizers/{authorizer['id']}",
        )
        returned: dict[str, Any] = json.loads(content) or {}
        if returned.get("errorMessage") == "Unauthorized":
            raise errors.UnauthorizedError("Unauthorized")
        return AuthorizerResult.of(returned)
    except (BotoCoreError, ClientError, KeyError, TypeError, ValueError) as problem:
        _LOG.warning("authorizer %s failed: %r", authorizer["id"], problem)
        raise errors.AuthorizerConfigurationError from problem


def _event(context: RestApiInvocationContext) -> dict[str, Any]:
    request = context.invocation_request
    headers = request["headers"]
    return {
        "type": "REQUEST",
        "methodArn": _method_arn(context),
        "resource": context.resource["path"],
        "path": request["path"],
        "httpMethod": request["http_method"],
        "headers": dict(headers),
        "multiValueHeaders": header_utils.build_multi_value_headers(headers),
        "queryStringParameters": request["query_string_parameters"] or {},
        "multiValueQueryStringParameters": request["multi_value_query_string_parameters"] or {},
        "pathParameters": request["path_parameters"] or {},
        "stageVariables": context.stage_variables or {},
        "requestContext": context.context_variables,
    }


def _method_arn(context: RestApiInvocationContext) -> str:
    request = context.invocation_request
    return f"{_api_arn(context)}/{context.stage}/{request['http_method']}{request['path']}"


def _api_arn(context: RestApiInvocationContext) -> str:
    return str(helpers.get_source_arn(context)).partition("/")[0]
