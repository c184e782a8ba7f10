"""Services as we want them: LocalStack's own with what it leaves out, or moto in process.

Each is chosen by ``PROVIDER_OVERRIDE_<SERVICE>``, and loaded when its service is first used.
"""

import copy
from types import SimpleNamespace

from localstack.services.plugins import Service, aws_provider


@aws_provider(api="dynamodb", name="moto")  # type: ignore[untyped-decorator]
def dynamodb() -> Service:
    """In process; LocalStack's own provider would download DynamoDBLocal.

    Answers go out as moto wrote them: LocalStack reads each twice, and writes it again. And items
    are neither copied before they are written, nor read whole for each attribute that is asked
    for. That was most of what a scan took.
    """
    from localstack.aws.api import RequestContext
    from localstack.aws.skeleton import Skeleton
    from localstack.aws.spec import load_service
    from localstack.http import Response
    from localstack.services import moto
    from moto.dynamodb.models import table
    from moto.dynamodb.models.dynamo_type import Item, LimitedSizeDict

    def answered(context: RequestContext, _: object) -> Response:
        answer = moto.dispatch_to_moto(context)
        if answer.status_code < 300:  # noqa: PLR2004 - HTTP's own
            context.service_response = {"by": "moto"}  # what has none is read once more
        return answer

    project = Item.project

    def projected(item: Item, paths: list[list[str]]) -> Item:
        if any(len(path) > 1 for path in paths):
            return project(item, paths)
        found = copy.copy(item)
        held = {name: item.attrs[name] for (name,) in paths if name in item.attrs}
        found.attrs = LimitedSizeDict(held)
        return found

    shallow = SimpleNamespace(copy=copy.copy, deepcopy=lambda items: items)
    for owner, name, ours in ((Item, "project", projected), (table, "copy", shallow)):
        setattr(owner, name, ours)
    model = load_service("dynamodb")
    skeleton = Skeleton(model, dict.fromkeys(model.operation_names, answered))
    return Service("dynamodb", skeleton=skeleton)


@aws_provider(api="apigateway", name="hostmode")  # type: ignore[untyped-decorator]
def apigateway() -> Service:
    """With authorizers, binary bodies, limits and the gateway's own answers."""
    from localstack.services.apigateway.next_gen.execute_api import handlers
    from localstack.services.apigateway.next_gen.provider import ApigatewayNextGenProvider
    from localstack.services.moto import MotoFallbackDispatcher

    from localstack_hostmode.api_gateway import bodies
    from localstack_hostmode.api_gateway.authorizer import Authorization

    handlers.preprocess_request.append(bodies.check_size)
    handlers.preprocess_request.append(Authorization())
    bodies.encode_binary_bodies()
    bodies.honour_templates()
    return Service.for_provider(
        ApigatewayNextGenProvider(), dispatch_table_factory=MotoFallbackDispatcher
    )


@aws_provider(api="cloudformation", name="hostmode")  # type: ignore[untyped-decorator]
def cloudformation() -> Service:
    """Strict: refuses a stack with a resource that nothing here makes.

    To decide that, LocalStack asks an online catalog, and refuses everything without a network.
    """
    from localstack.services.cloudformation.engine.v2 import change_set_resource_support_checker
    from localstack.services.cloudformation.v2.provider import CloudformationProviderV2
    from localstack.utils.catalog.catalog import AwsCatalogRuntimePlugin
    from localstack.utils.catalog.common import (
        CloudFormationResourcesSupportAtRuntime,
        CloudFormationResourcesSupportInLatest,
    )

    from localstack_hostmode.cloudformation.custom_resource import CUSTOM_RESOURCE

    class Installed(AwsCatalogRuntimePlugin):  # type: ignore[misc]
        def get_cloudformation_resource_status(self, resource_name: str, *_: object) -> object:
            is_custom = resource_name.startswith("Custom::")
            name = CUSTOM_RESOURCE if is_custom else resource_name
            if name in self._get_cfn_resources_available_at_runtime():
                return CloudFormationResourcesSupportAtRuntime.AVAILABLE
            return CloudFormationResourcesSupportInLatest.NOT_SUPPORTED

    change_set_resource_support_checker.get_aws_catalog = Installed
    return Service.for_provider(CloudformationProviderV2())
