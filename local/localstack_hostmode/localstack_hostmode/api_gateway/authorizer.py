"""Asks a Lambda authorizer whether a request may pass, and keeps its answers for their time."""

import json
import logging
import threading
import time
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from localstack.aws.chain import HandlerChain
from localstack.http import Response
from localstack.services.apigateway.next_gen.execute_api import gateway_response as errors
from localstack.services.apigateway.next_gen.execute_api.context import RestApiInvocationContext
from localstack.services.apigateway.next_gen.execute_api.header_utils import (
    build_multi_value_headers,
)
from localstack.services.apigateway.next_gen.execute_api.helpers import (
    get_lambda_function_arn_from_invocation_uri,
    get_source_arn,
)
from localstack.services.apigateway.next_gen.execute_api.integrations.aws import (
    RestApiAwsProxyIntegration,
)

from localstack_hostmode.api_gateway.policy import Verdict, verdict_on

_LOG = logging.getLogger(__name__)
_TTL_S = 300
_HEADER = "method.request.header."


class Authorization:
    """A handler in the chain of an API's requests, for authorizers of the type REQUEST."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: dict[tuple[str, ...], tuple[float, dict[str, Any]]] = {}

    def __call__(
        self, chain: HandlerChain, context: RestApiInvocationContext, response: Response
    ) -> None:
        """Let the request pass and tell its function of the device, or raise a gateway's error."""
        if context.resource_method.get("authorizationType") != "CUSTOM":
            return
        authorizer = context.deployment.rest_api.authorizers.get(
            context.resource_method["authorizerId"]
        )
        if authorizer is None:
            raise errors.AuthorizerConfigurationError
        answer = self._answer(authorizer, context)
        verdict = verdict_on(_method_arn(context), answer["policyDocument"])
        if verdict is not Verdict.ALLOWED:
            explicit = " with an explicit deny" if verdict is Verdict.DENIED else ""
            message = f"User is not authorized to access this resource{explicit}"
            raise errors.AccessDeniedError(message)
        told = {name: _text(value) for name, value in (answer.get("context") or {}).items()}
        context.context_variables["authorizer"] = {"principalId": answer["principalId"], **told}

    def _answer(
        self, authorizer: Mapping[str, Any], context: RestApiInvocationContext
    ) -> dict[str, Any]:
        """One that is kept, or a new one; kept by what identifies the caller."""
        key = (context.api_id, context.stage, authorizer["id"], *_identity(authorizer, context))
        now_s = time.monotonic()
        with self._lock:
            until_s, answer = self._answers.get(key, (0.0, {}))
        if now_s >= until_s:
            answer = _asked(authorizer, context)
            ttl_s = int(authorizer.get("authorizerResultTtlInSeconds", _TTL_S))
            with self._lock:
                self._answers[key] = (now_s + ttl_s, answer)
        return answer


def _identity(authorizer: Mapping[str, Any], context: RestApiInvocationContext) -> list[str]:
    """The headers by which a caller is known; without one of them nobody is asked."""
    headers = context.invocation_request["headers"]
    found: list[str] = []
    for source in (authorizer.get("identitySource") or "").split(","):
        if not source.strip().startswith(_HEADER):
            _LOG.error("authorizer %s: only headers identify a caller here", authorizer["id"])
            raise errors.AuthorizerConfigurationError
        value = headers.get(source.strip().removeprefix(_HEADER))
        if not value:
            message = "Unauthorized"
            raise errors.UnauthorizedError(message)
        found.append(value)
    return found


def _asked(authorizer: Mapping[str, Any], context: RestApiInvocationContext) -> dict[str, Any]:
    uri = authorizer["authorizerUri"]
    try:
        content = RestApiAwsProxyIntegration.call_lambda(
            function_arn=get_lambda_function_arn_from_invocation_uri(uri),
            event=json.dumps(_event(context)).encode(),
            source_arn=f"{_api_arn(context)}/authorizers/{authorizer['id']}",
        )
        answer: dict[str, Any] = json.loads(content) or {}
    except (BotoCoreError, ClientError, ValueError) as problem:
        _LOG.warning("authorizer %s failed: %s", authorizer["id"], problem)
        raise errors.AuthorizerConfigurationError from problem
    if answer.get("errorMessage") == "Unauthorized":
        message = "Unauthorized"
        raise errors.UnauthorizedError(message)
    if not {"principalId", "policyDocument"} <= answer.keys():
        _LOG.warning("authorizer %s answered %.300s", authorizer["id"], content)
        raise errors.AuthorizerConfigurationError
    return answer


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
        "multiValueHeaders": build_multi_value_headers(headers),
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
    return str(get_source_arn(context)).partition("/")[0]


def _text(value: object) -> str:
    """All that an authorizer tells a function arrives there as text."""
    return str(value).lower() if isinstance(value, bool) else str(value)
