"""The API as the demo's agents use it: the real views with a real key, without a server between.

The middleware around the views (hosts, HTTPS, sessions) is the web's and knows no agent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson
from django.test import RequestFactory
from django.urls import resolve


class RefusedError(Exception):
    """The API refused what the demo sent: the demo is wrong, or the API."""


@dataclass(frozen=True, slots=True)
class Gateway:
    key: str
    address: str  # the client's, as the server sees it

    def post(self, path: str, body: dict[str, Any], **headers: str) -> dict[str, Any]:
        url = f"/api/v1/{path}"
        request = RequestFactory().generic(
            "POST",
            url,
            orjson.dumps(body),
            content_type="application/json",
            headers={"Authorization": f"Bearer {self.key}", **headers},
            REMOTE_ADDR=self.address,
        )
        match = resolve(url)
        request.resolver_match = match
        response = match.func(request, *match.args, **match.kwargs)
        if response.status_code >= 400:
            raise RefusedError(f"{path}: {response.status_code} {response.content!r}")
        answer: dict[str, Any] = orjson.loads(response.content)
        return answer
