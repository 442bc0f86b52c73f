"""A web service on loopback that keeps what is posted to it, and refuses what is no JSON."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


@dataclass
class Receiver:
    """Its address, and the bodies that were posted: objects of JSON, and what is none."""

    url: str = ""
    posted: list[dict[str, Any]] = field(default_factory=list)
    refused: list[bytes] = field(default_factory=list)


@contextmanager
def receiver() -> Iterator[Receiver]:
    """Run the service during the block."""
    kept = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            try:
                kept.posted.append(json.loads(body))
                self.send_response(204)
            except ValueError:
                kept.refused.append(body)
                self.send_response(400)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        kept.url = f"http://127.0.0.1:{server.server_port}/hook"
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield kept
        finally:
            server.shutdown()
