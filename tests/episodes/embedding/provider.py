"""A real HTTP server that answers like an embedding provider, well or badly."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

DIMENSIONS = 4


@dataclass(frozen=True)
class Reply:
    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


Answer = Callable[[list[str]], Reply]


def vector_of(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    digest = hashlib.sha256(text.encode()).digest()
    return [byte / 64 + 0.01 for byte in digest[:dimensions]]


def items_of(texts: list[str]) -> list[dict[str, Any]]:
    return [{"index": i, "embedding": vector_of(text)} for i, text in enumerate(texts)]


def as_json(document: object) -> Reply:
    return Reply(json.dumps(document).encode())


def good(texts: list[str]) -> Reply:
    return as_json({"object": "list", "data": items_of(texts), "model": "m"})


class Provider:
    """`answers` are used up one per request, then `answer` for good; `requests` is what came."""

    def __init__(self) -> None:
        self.answer: Answer = good
        self.answers: list[Answer] = []
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.closing = Event()
        self.url = ""
        self.trickle = 0.0  # seconds between the bytes of a body

    @property
    def texts(self) -> list[list[str]]:
        return [request["input"] for request in self.requests]


@contextmanager
def running_provider() -> Iterator[Provider]:
    provider = Provider()
    server = _Server(("127.0.0.1", 0), _Handler)
    server.provider = provider
    provider.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield provider
    finally:
        provider.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    provider: Provider

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that gave up is part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        provider = self.server.provider
        payload = json.loads(self.rfile.read(int(self.headers["content-length"])))
        provider.requests.append({"path": self.path, **payload})
        provider.headers.append({name.lower(): value for name, value in self.headers.items()})
        answer = provider.answers.pop(0) if provider.answers else provider.answer
        reply = answer(payload["input"])
        self.send_response(reply.status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(reply.body)))
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        if not provider.trickle:
            self.wfile.write(reply.body)
            return
        for byte in reply.body:
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
            provider.closing.wait(provider.trickle)

    def log_message(self, format: str, *args: object) -> None:
        """Keep the tests' output clean."""
