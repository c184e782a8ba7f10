"""Keeps what S3, DynamoDB and the set of queues hold: records what changes it, and replays that.

Messages in queues are not kept.
"""

import io
import threading
from unittest.mock import patch
from urllib.parse import unquote

from localstack import config
from localstack.aws.api import RequestContext
from localstack.aws.app import LocalstackAwsGateway
from localstack.aws.chain import HandlerChain
from localstack.http import Request, Response
from localstack.http.request import get_raw_path
from localstack.services.s3 import notifications, presigned_url
from werkzeug.datastructures import Headers

from localstack_hostmode.draws import during, noted_in, repeated_from
from localstack_hostmode.journal import Journal, Record

_ARRIVED = "localstack_hostmode.arrived"
_READING_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_READING_OPERATIONS = (
    "BatchGet", "Describe", "Get", "Head", "List", "Query", "Scan", "Select", "TransactGet",
)  # fmt: skip
_QUEUE_OPERATIONS = frozenset({"CreateQueue", "DeleteQueue", "SetQueueAttributes"})


class Recorder:
    """Two handlers in the gateway's chain: one sees a request as it arrives, one has it served.

    What may change something is served one request at a time, so that the journal's order is the
    order in which things happened.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._one_at_a_time = threading.Lock()

    def install(self, gateway: LocalstackAwsGateway) -> None:
        handlers = gateway.request_handlers
        self._serve = gateway.service_request_router
        handlers[handlers.index(self._serve)] = self.serve
        handlers.insert(0, self.note)

    def note(self, chain: HandlerChain, context: RequestContext, response: Response) -> None:
        """Keep the request as it came in: later handlers decode it, move its parameters, eat it."""
        request = context.request
        if request.method in _READING_METHODS:
            return
        body = request.environ["wsgi.input"].read()
        request.environ["wsgi.input"] = io.BytesIO(body)
        request.environ[_ARRIVED] = Record(
            method=request.method,
            path=get_raw_path(request),
            query=request.query_string.decode("latin-1"),
            headers=list(request.headers.items()),
            body=body,
        )

    def serve(self, chain: HandlerChain, context: RequestContext, response: Response) -> None:
        arrived = context.request.environ.get(_ARRIVED)
        if arrived is None or not _is_kept(context):
            self._serve(chain, context, response)
            return
        with self._one_at_a_time, during(noted_in(arrived.draws)):
            self._serve(chain, context, response)
            if response.status_code < 300:  # noqa: PLR2004 - HTTP's own
                self._journal.append(arrived)


class ReplayError(Exception):
    """A request that went well once was refused at its replay: the state would not be the same."""


def replay(journal: Journal, gateway: LocalstackAwsGateway) -> None:
    """Bring the services back to their state at the end of ``journal``.

    Raises ``JournalCorruptError``, or ``ReplayError`` where a request was refused.
    """
    dispatcher, queues = notifications.NotificationDispatcher, notifications.SqsNotifier
    with (
        # Presigned requests were checked when they came, and may have expired since.
        patch.object(config, "S3_SKIP_SIGNATURE_VALIDATION", new=True),
        patch.object(presigned_url, "is_expired", new=lambda _: False),
        # S3 notified of these objects when they came; the port that it needs is not open yet.
        patch.object(dispatcher, "_submit_notification", new=lambda *_: None),
        patch.object(queues, "_verify_target", new=lambda *_: None),
    ):
        for record in journal.records():
            _serve_again(record, gateway)


def _serve_again(record: Record, gateway: LocalstackAwsGateway) -> None:
    response = Response()
    request = Request(
        method=record.method,
        path=unquote(record.path),
        raw_path=record.path,
        query_string=record.query,
        headers=Headers(record.headers),
        body=record.body,
    )
    with during(repeated_from(record.draws)):
        gateway.process(request, response)
    if response.status_code >= 300:  # noqa: PLR2004 - HTTP's own
        answer = f"{response.status_code} {response.get_data(as_text=True)[:500]}"
        raise ReplayError(f"{record.method} {record.path} was refused at its replay: {answer}")


def _is_kept(context: RequestContext) -> bool:
    """Whether an operation's effect is to outlive the process."""
    if not context.operation or not context.service:
        return False
    if context.service.service_name == "sqs":
        return context.operation.name in _QUEUE_OPERATIONS
    return not context.operation.name.startswith(_READING_OPERATIONS)
