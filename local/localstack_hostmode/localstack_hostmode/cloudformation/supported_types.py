"""Which resources a stack may have, decided by what is installed."""

from localstack.services.cloudformation.engine.v2 import change_set_resource_support_checker
from localstack.utils.catalog.catalog import AwsCatalogRuntimePlugin
from localstack.utils.catalog.common import (
    CloudFormationResourcesSupportAtRuntime,
    CloudFormationResourcesSupportInLatest,
)

from localstack_hostmode.cloudformation.custom_resource import CUSTOM_RESOURCE


def decide_offline() -> None:
    """Refuse a stack with a resource that nothing here makes, without asking an online catalog.

    LocalStack in its strict mode asks one, and refuses everything while it cannot be reached.
    """
    change_set_resource_support_checker.get_aws_catalog = _Installed


class _Installed(AwsCatalogRuntimePlugin):  # type: ignore[misc]
    def get_cloudformation_resource_status(self, resource_name: str, *_: object) -> object:
        is_custom = resource_name.startswith("Custom::")
        name = CUSTOM_RESOURCE if is_custom else resource_name
        if name in self._get_cfn_resources_available_at_runtime():
            return CloudFormationResourcesSupportAtRuntime.AVAILABLE
        return CloudFormationResourcesSupportInLatest.NOT_SUPPORTED
