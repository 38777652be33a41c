"""Reading an export, and taking it in."""

from __future__ import annotations

import gzip
from typing import Any

import orjson
from django.test import Client

from episodes.models import App
from tests.episodes.api.client import ApiClient
from tests.factories import make_key

Line = dict[str, Any]
ITEMS = 100


class Exported:
    """The answer of GET /export, read to its end."""

    def __init__(self, response: Any) -> None:
        self.status: int = response.status_code
        self.headers = response.headers
        body = response.getvalue() if response.streaming else response.content
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self.body: bytes = body

    @property
    def lines(self) -> list[Line]:
        return [orjson.loads(line) for line in self.body.splitlines()]

    @property
    def sessions(self) -> list[tuple[str, str]]:
        return [(line["user_id"], line["session_id"]) for line in self.lines]


def export(key: str, query: dict[str, Any] | None = None, **headers: str) -> Exported:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Exported(
        Client().get(
            "/api/v1/export", query or {}, headers={"Authorization": f"Bearer {key}", **named}
        )
    )


def export_of(app: App, **query: Any) -> list[Line]:
    answer = export(make_key(app)[1], query)
    assert answer.status == 200, answer.body
    return answer.lines


def take_in(app: App, lines: list[Line], *scopes: str) -> list[dict[str, Any]]:
    """Send the lines as they are to POST /sessions/batch; return its results."""
    client = ApiClient(make_key(app, *scopes)[1])
    results = []
    for start in range(0, len(lines), ITEMS):
        answer = client.post("sessions/batch", {"items": lines[start : start + ITEMS]})
        assert answer.status == 200, answer
        results += answer.body["results"]
    return results


def moved(line: Line) -> Line:
    """What two exports of one episode have in common: all but how it stands in a store."""
    return {name: value for name, value in line.items() if name != "stored"} | {
        "content_hash": line["stored"]["content_hash"]
    }
