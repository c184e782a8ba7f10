"""A door that takes what devices send, by HTTP on this machine, and gives each its true id."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jwt

from fleetlane.events.names import keyed_raw_id


@dataclass
class Door:
    """Where it answers, for whom tokens were, and the paths that it refuses."""

    url: str = ""
    refused: Mapping[str, int] = field(default_factory=dict)
    audiences: set[str] = field(default_factory=set)
    devices: set[str] = field(default_factory=set)

    def answer(
        self, path: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, dict[str, object]]:
        if path == "/form":
            return 204, {}
        if path in self.refused:
            return self.refused[path], {"type": "urn:x:forbidden", "detail": "not today"}
        claims = jwt.decode(headers["Authorization"][7:], options={"verify_signature": False})
        self.audiences.add(claims["aud"])
        self.devices.add(claims["sub"])
        stream, is_upload = path.rpartition("/")[2], path.startswith("/v1/uploads/")
        digest = json.loads(body)["sha256"] if is_upload else sha256(body).hexdigest()
        raw_id = keyed_raw_id(
            claims["sub"], stream, headers["Idempotency-Key"], bytes.fromhex(digest)
        )
        if is_upload:
            return 201, {"id": raw_id, "url": f"{self.url}/form", "fields": {}}
        return 202, {"id": raw_id, "landed": "kafka"}


@contextmanager
def open_door() -> Iterator[Door]:
    door = Door()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status, content = door.answer(self.path, dict(self.headers.items()), body)
            self.send_response(status)
            answer = b"" if status == 204 else json.dumps(content).encode()
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            door.url = f"http://127.0.0.1:{server.server_port}"
            yield door
        finally:
            server.shutdown()
            thread.join()
