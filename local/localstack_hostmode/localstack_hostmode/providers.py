"""DynamoDB by moto, in process; LocalStack's own provider would download DynamoDBLocal."""

from localstack.services.plugins import Service, aws_provider


@aws_provider(api="dynamodb", name="moto")  # type: ignore[untyped-decorator]
def dynamodb() -> Service:
    from localstack.aws.skeleton import Skeleton
    from localstack.aws.spec import load_service
    from localstack.services import moto

    model = load_service("dynamodb")
    by_moto = dict.fromkeys(model.operation_names, moto._proxy_moto)  # noqa: SLF001 - the only way
    return Service("dynamodb", skeleton=Skeleton(model, by_moto))
