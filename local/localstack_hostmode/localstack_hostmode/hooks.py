"""What happens as LocalStack starts."""

import functools
import os
from pathlib import Path

from localstack.runtime import hooks

_AFTER_ALL_OTHERS = -100


@hooks.on_runtime_create()  # type: ignore[untyped-decorator]
def bind_loopback() -> None:
    """Listen where GATEWAY_LISTEN says: LocalStack drops an IPv4 host and binds to all of them."""
    from localstack import config
    from twisted.internet import endpoints

    host_of_port = {item.port: item.host for item in config.GATEWAY_LISTEN}
    original = endpoints.TCP4ServerEndpoint

    @functools.wraps(original, updated=())
    def endpoint(
        reactor: object, port: int, backlog: int = 50, interface: str = ""
    ) -> endpoints.TCP4ServerEndpoint:
        return original(reactor, port, backlog, interface or host_of_port.get(port, "127.0.0.1"))

    endpoints.TCP4ServerEndpoint = endpoint


@hooks.on_runtime_start(priority=_AFTER_ALL_OTHERS)  # type: ignore[untyped-decorator]
def keep_state() -> None:
    """Bring S3 and DynamoDB back to where the journal left them, and note what changes from now on.

    The port opens after this. Nothing is kept where ``LOCALSTACK_JOURNAL`` names no journal.
    """
    from localstack.runtime.current import get_current_runtime

    from localstack_hostmode import draws
    from localstack_hostmode.journal import Journal
    from localstack_hostmode.recording import Recorder, replay

    path = os.environ.get("LOCALSTACK_JOURNAL")  # noqa: TID251 - the only setting
    if not path:
        return
    gateway = get_current_runtime().components.gateway
    draws.install()
    journal = Journal(Path(path))
    replay(journal, gateway)
    Recorder(journal).install(gateway)
