"""Serves the journal's requests again, before the port opens."""

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import unquote

from localstack import config
from localstack.aws.app import LocalstackAwsGateway
from localstack.http import Request, Response
from localstack.services.s3 import notifications, presigned_url
from werkzeug.datastructures import Headers

from localstack_hostmode.draws import during, repeated_from
from localstack_hostmode.journal import Journal, Record


class ReplayError(Exception):
    """A request that went well once was refused at its replay: the state would not be the same."""


def replay(journal: Journal, gateway: LocalstackAwsGateway) -> None:
    """Bring the services back to their state at the end of ``journal``.

    Raises:
        JournalCorruptError: The journal is damaged before its end.
        ReplayError: A request was refused.
    """
    with _presigned_requests_accepted(), _notifications_withheld():
        for record in journal.records():
            _serve_again(record, gateway)


@contextmanager
def _presigned_requests_accepted() -> Iterator[None]:
    """They were checked when they came, and may have expired since."""
    skips, is_expired = config.S3_SKIP_SIGNATURE_VALIDATION, presigned_url.is_expired
    config.S3_SKIP_SIGNATURE_VALIDATION, presigned_url.is_expired = True, lambda _: False
    try:
        yield
    finally:
        config.S3_SKIP_SIGNATURE_VALIDATION, presigned_url.is_expired = skips, is_expired


@contextmanager
def _notifications_withheld() -> Iterator[None]:
    """S3 notified of these objects when they came; and the port that it needs is not open yet."""
    dispatcher, queues = notifications.NotificationDispatcher, notifications.SqsNotifier
    submit, verify = dispatcher._submit_notification, queues._verify_target  # noqa: SLF001 - theirs
    dispatcher._submit_notification = queues._verify_target = lambda *_: None  # noqa: SLF001
    try:
        yield
    finally:
        dispatcher._submit_notification, queues._verify_target = submit, verify  # noqa: SLF001


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
        message = f"{record.method} {record.path} was refused at its replay: {answer}"
        raise ReplayError(message)
