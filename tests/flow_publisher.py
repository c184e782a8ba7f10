"""A publisher of flows, with the code of their activation and moto's S3 behind it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from clients.flows.parser_store import ParserStore
from clients.flows.store import FlowStore, OwnerFlows
from lambdas.flow_activation.owners import activate_owners
from operations.flows.publisher import FlowPublisher
from tests.contract.aws_in_process import buckets
from tests.unit.lambdas.fakes import FakeKafka


@contextmanager
def flow_publisher() -> Iterator[FlowPublisher]:
    with buckets("flows") as s3:
        flows, parsers = FlowStore(s3, "flows"), ParserStore(s3, "flows")
        owned = OwnerFlows(s3, "flows")

        def put_into_force(owners: Sequence[str]) -> str:
            return activate_owners(
                owners, store=flows, owned=owned, topics=FakeKafka([]), artifacts=parsers
            ).version

        yield FlowPublisher(s3, "flows", put_into_force)
