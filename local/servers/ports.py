"""Ports on 127.0.0.1: free ones, and the same ones again after a restart."""

import secrets
import socket
from pathlib import Path

# Below the ports that Linux (32768) and macOS (49152) lend to outgoing connections: while a server
# is down, no client of it can be given the server's own port.
_CANDIDATES = range(20_000, 32_768)


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_port() -> int:
    """A port that nobody listens on right now."""
    while True:
        port = secrets.choice(_CANDIDATES)
        if is_free(port):
            return port


def remembered_port(path: Path) -> int:
    """The port noted in ``path``; a free one, then noted, if there is none or it is taken.

    A server asks each time before it starts, so that it comes back where its clients expect it.
    """
    noted = int(path.read_text()) if path.exists() else None
    port = noted if noted is not None and is_free(noted) else free_port()
    beside = path.with_suffix(".new")  # a start that is killed leaves no half of a note
    beside.write_text(f"{port}\n")
    beside.replace(path)
    return port
