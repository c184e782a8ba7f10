"""The entry points by which CloudFormation finds our resources."""

from localstack.services.cloudformation.resource_provider import (
    CloudFormationResourceProviderPlugin,
)


class AuthorizerPlugin(CloudFormationResourceProviderPlugin):  # type: ignore[misc]
    """``AWS::ApiGateway::Authorizer``."""

    name = "AWS::ApiGateway::Authorizer"

    def load(self) -> None:
        from localstack_hostmode.cloudformation.authorizer import AuthorizerProvider

        self.factory = AuthorizerProvider


class CustomResourcePlugin(CloudFormationResourceProviderPlugin):  # type: ignore[misc]
    """``AWS::CloudFormation::CustomResource``, and by it ``Custom::*``."""

    name = "AWS::CloudFormation::CustomResource"

    def load(self) -> None:
        from localstack_hostmode.cloudformation.custom_resource import CustomResourceProvider

        self.factory = CustomResourceProvider
