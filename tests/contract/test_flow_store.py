"""Published flows in S3, here moto's."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from botocore.awsrequest import AWSPreparedRequest
from botocore.exceptions import ReadTimeoutError
from moto.core.botocore_stubber import BotocoreStubber

from clients.flows.store import FlowsNotPublishedError, FlowStore, FlowsUnavailableError
from fleetlane.events.flows.files import flow_from_toml
from fleetlane.events.flows.flow import Flow
from tests.contract import aws_in_process
from tests.contract.aws_in_process import buckets

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client


@pytest.fixture
def s3() -> "Iterator[S3Client]":
    with buckets("flows") as s3:
        yield s3


@pytest.fixture
def store(s3: "S3Client") -> FlowStore:
    return FlowStore(s3, "flows")


def test_a_version_is_read_back_as_it_was_published(store: FlowStore) -> None:
    flows = (_flow("alpha"), _flow("beta"))

    published = store.published(store.publish(flows))

    assert published.flows == flows


def test_the_same_flows_in_another_order_are_the_same_version(store: FlowStore) -> None:
    versions = {
        store.publish([_flow("alpha"), _flow("beta")]),
        store.publish([_flow("beta"), _flow("alpha")]),
    }

    assert len(versions) == 1


def test_other_flows_are_another_version(store: FlowStore) -> None:
    versions = {store.publish([_flow("alpha")]), store.publish([_flow("alpha", owner="others")])}

    assert len(versions) == 2


def test_publishing_changes_nothing_of_what_is_current(store: FlowStore) -> None:
    first = store.publish([_flow("alpha")])
    store.make_current(first)

    store.publish([_flow("beta")])

    assert store.current().version == first


def test_the_version_before_can_be_made_current_again(store: FlowStore) -> None:
    first, second = store.publish([_flow("alpha")]), store.publish([_flow("beta")])
    store.make_current(second)

    store.make_current(first)

    current = store.current()
    assert (current.version, current.flows) == (first, store.published(first).flows)


def test_the_version_in_force_tells_those_before_newest_first_and_each_once(
    store: FlowStore,
) -> None:
    versions = [store.publish([_flow(name)]) for name in ("alpha", "beta", "gamma")]
    for version in (*versions, versions[0]):
        store.make_current(version)

    assert store.current().before == (versions[2], versions[1])


def test_a_version_whose_write_had_no_answer_is_in_force_once_it_is_tried_again(
    store: FlowStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    processed, lost = aws_in_process._process_request, list[str]()

    def without_first_answer(stubber: BotocoreStubber, request: AWSPreparedRequest) -> object:
        answer = processed(stubber, request)
        if request.method == "PUT" and not lost:
            lost.append(request.url)
            raise ReadTimeoutError(endpoint_url=request.url)
        return answer

    versions = [store.publish([_flow(name)]) for name in ("alpha", "beta")]
    store.make_current(versions[0])
    monkeypatch.setattr(aws_in_process, "_process_request", without_first_answer)

    store.make_current(versions[1])

    assert [url.rpartition("/")[2] for url in lost] == ["current.json"]
    assert store.current().version == versions[1]


def test_what_cannot_be_read_is_replaced_by_the_next_version(
    store: FlowStore, s3: "S3Client"
) -> None:
    s3.put_object(Bucket="flows", Key="flows/current.json", Body=b"no flows")

    store.make_current(store.publish([_flow("alpha")]))

    assert store.current().before == ()


def test_before_any_version_is_current_there_is_none(store: FlowStore) -> None:
    store.publish([_flow("alpha")])

    with pytest.raises(FlowsNotPublishedError):
        store.current()


@pytest.mark.parametrize("version", ["0" * 16, "../current", ""])
def test_a_version_that_was_never_published_cannot_be_made_current(
    store: FlowStore, version: str
) -> None:
    with pytest.raises(FlowsNotPublishedError):
        store.make_current(version)


def test_what_are_no_flows_cannot_be_read(store: FlowStore, s3: "S3Client") -> None:
    s3.put_object(Bucket="flows", Key="flows/current.json", Body=b'{"version": 1}')

    with pytest.raises(FlowsUnavailableError, match="Expected `str`"):
        store.current()


def test_a_missing_bucket_is_an_outage(s3: "S3Client") -> None:
    with pytest.raises(FlowsUnavailableError, match="NoSuchBucket"):
        FlowStore(s3, "not-there").current()


def _flow(stream: str, owner: str = "acme") -> Flow:
    return flow_from_toml(
        f'stream = "{stream}"\nowner = "{owner}"\n[[parsers]]\nuse = "json"\n', file="test"
    )
