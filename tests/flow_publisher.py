"""A publisher of flows, with the code of their activation and moto's S3 behind it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from lambdas.flow_activation.service import activate_owners
from operations.flows.publisher import FlowPublisher
from tests.contract.aws_in_process import buckets
from tests.unit.lambdas.fakes import FakeKafka


@contextmanager
def flow_publisher() -> Iterator[FlowPublisher]:
    with buckets("flows") as s3:

        def put_into_force(owners: Sequence[str]) -> str:
            return activate_owners(owners, s3=s3, bucket="flows", topics=FakeKafka([])).version

        yield FlowPublisher(s3, "flows", put_into_force)
