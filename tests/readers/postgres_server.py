"""A Postgres of the tests' own, on a free port: of what ``apt-get install postgresql`` brings."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psycopg

from local.servers.ports import free_port

_DEBIAN: Final = Path("/usr/lib/postgresql")
_START_S_MAX: Final = 60.0


def binaries() -> Path | None:
    """Where its programs are, if it is installed."""
    found = shutil.which("initdb")
    return Path(found).parent if found else max(_DEBIAN.glob("*/bin"), default=None)


@contextmanager
def running_postgres(programs: Path) -> Iterator[str]:
    """Its URL while in the block. It refuses to run as root, who runs it as nobody."""
    user = "nobody" if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="postgres-") as name:
        folder = Path(name)
        if user is not None:
            shutil.chown(folder, user)
        port = free_port()
        data = str(folder / "data")
        initdb = [str(programs / "initdb"), "--pgdata", data, "--no-sync"]
        options = ["--auth", "trust", "--username", "sink", "--encoding", "UTF8"]
        subprocess.run([*initdb, *options], user=user, cwd=folder, check=True, capture_output=True)
        settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": name,
            "fsync": "off",
        }
        given = [word for one in settings.items() for word in ("-c", "=".join(one))]
        server = subprocess.Popen(
            [programs / "postgres", "-D", data, "-p", str(port), *given],
            user=user,
            cwd=folder,
            stderr=subprocess.DEVNULL,
        )
        try:
            url = f"postgresql://sink@127.0.0.1:{port}/postgres"
            _wait_for(url)
            yield url
        finally:
            server.terminate()  # it waits for its clients to leave
            server.wait()


def _wait_for(url: str) -> None:
    until_s = time.monotonic() + _START_S_MAX
    while True:
        try:
            psycopg.connect(url).close()
        except psycopg.OperationalError:
            if time.monotonic() > until_s:
                raise
            time.sleep(0.1)
        else:
            return
