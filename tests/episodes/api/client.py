from __future__ import annotations

from typing import Any

import orjson
from django.test import Client


class Answer:
    def __init__(self, response: Any) -> None:
        self.status: int = response.status_code
        self.headers = response.headers
        self.type: str = response.headers.get("Content-Type", "")
        content = b"".join(response) if response.streaming else response.content
        self.body: Any = orjson.loads(content) if content else None

    @property
    def errors(self) -> list[tuple[str, str]]:
        """The (pointer, code) of every error."""
        return [(error["pointer"], error["code"]) for error in self.body["errors"]]

    def __repr__(self) -> str:
        return f"<{self.status} {self.body}>"


class ApiClient:
    """Speaks to /api/v1/ with one key."""

    def __init__(self, key: str | None, *, raise_errors: bool = True) -> None:
        self.key = key
        self._client = Client(raise_request_exception=raise_errors)

    def get(self, path: str, query: dict[str, Any] | None = None, **headers: str) -> Answer:
        return Answer(
            self._client.get(f"/api/v1/{path}", query or {}, headers=self._headers(headers))
        )

    def post(self, path: str, body: Any = b"", **headers: str) -> Answer:
        """Send `body` as JSON, or as it is when it is bytes."""
        data = body if isinstance(body, bytes) else orjson.dumps(body)
        return Answer(
            self._client.generic(
                "POST",
                f"/api/v1/{path}",
                data,
                content_type="application/json",
                headers=self._headers(headers),
            )
        )

    def request(self, method: str, path: str, **headers: str) -> Answer:
        return Answer(
            self._client.generic(method, f"/api/v1/{path}", headers=self._headers(headers))
        )

    def _headers(self, headers: dict[str, str]) -> dict[str, str]:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return {"Authorization": f"Bearer {self.key}", **named} if self.key else named
