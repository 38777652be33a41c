"""Keys that demand a signed subject token: a body that names another subject is 404."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest

from episodes.keys.subject_tokens import sign_subject, signing_secret
from episodes.models import App, Episode
from memoryadmin.lib import clock
from tests.episodes.api.client import ApiClient
from tests.episodes.sharing import share
from tests.factories import GOAL, make_body, make_episode, make_key

ABOUT = {"user_id": "user-1", "session_id": "session-1"}
REQUESTS: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "sessions", make_body()),
    ("POST", "search", {"user_id": "user-1", "query": GOAL}),
    ("POST", "feedback", ABOUT | {"rating": "positive"}),
    ("POST", "outcomes", ABOUT | {"outcome": "success"}),
    ("GET", "sessions/status", ABOUT),
    ("GET", "stats", {"user_id": "user-1"}),
]


class BoundClient(ApiClient):
    """Sends a token for one subject with every request."""

    def __init__(self, app: App, user_id: str, *, seconds: int = 60) -> None:
        key, raw = make_key(app, demands_subject_token=True)
        super().__init__(raw)
        self.token = sign_subject(
            secret=signing_secret(key.id),
            user_id=user_id,
            expires_at=clock.now() + timedelta(seconds=seconds),
        )

    def _headers(self, headers: dict[str, str]) -> dict[str, str]:
        return super()._headers({"X_Subject_Token": self.token} | headers)


@pytest.fixture
def episode(app: App) -> Episode:
    return make_episode(app, session_id="session-1")


@pytest.mark.parametrize(("method", "path", "body"), REQUESTS)
def test_subject_itself_is_served(
    app: App, episode: Episode, method: str, path: str, body: dict[str, Any]
) -> None:
    bound = BoundClient(app, "user-1")

    answer = bound.get(path, body) if method == "GET" else bound.post(path, body)

    assert answer.status in {200, 201}


@pytest.mark.parametrize("token_of", ["user-2", "user-10", "user-1 ", "*"])
@pytest.mark.parametrize(("method", "path", "body"), REQUESTS)
def test_another_subject_is_404(
    app: App, episode: Episode, method: str, path: str, body: dict[str, Any], token_of: str
) -> None:
    bound = BoundClient(app, token_of)

    answer = bound.get(path, body) if method == "GET" else bound.post(path, body)

    assert (answer.status, answer.errors) == (404, [("", "not_found")])


def test_another_subjects_item_is_rejected(app: App) -> None:
    items = [make_body("user-1", "s-1"), make_body("user-2", "s-2")]

    answer = BoundClient(app, "user-1").post("sessions/batch", {"items": items})

    assert [result["status"] for result in answer.body["results"]] == ["created", "rejected"]
    assert answer.body["results"][1]["errors"][0]["code"] == "not_found"


def test_another_subjects_episode_is_404(app: App, episode: Episode) -> None:
    assert BoundClient(app, "user-2").get(f"episodes/{episode.id}").status == 404
    assert BoundClient(app, "user-1").get(f"episodes/{episode.id}").status == 200


def test_stats_are_the_subjects_own(app: App, episode: Episode) -> None:
    assert BoundClient(app, "user-2").get("stats").body["total"] == 0
    assert BoundClient(app, "user-1").get("stats").body["total"] == 1


@pytest.mark.parametrize("user_id", ["élodie🦊", " a b ", "50%", "100%25", "a\tb", "\x7f", "a@b.c"])
def test_ids_are_percent_encoded_in_the_token(app: App, user_id: str) -> None:
    """tests/memoryadmin/test_subject_tokens_over_http.py sends them through a real server."""
    bound = BoundClient(app, user_id)

    encoded_id = bound.token.rsplit(".", 2)[0]

    assert re.fullmatch(r"[\w.~%-]+", encoded_id, re.ASCII)
    assert bound.post("sessions", make_body(user_id)).status == 201
    assert bound.post("sessions", make_body(encoded_id)).status == 404


@pytest.mark.parametrize("token", ["", "user-1", "user-1.9999999999.00", "\xff.1.2"])
def test_bad_token_is_401(app: App, token: str) -> None:
    bound = BoundClient(app, "user-1")

    answer = bound.post("sessions", make_body(), X_Subject_Token=token)

    assert (answer.status, answer.errors) == (401, [("", "subject_token")])
    assert answer.headers["RateLimit-Limit"]
    assert Episode.objects.count() == 0


def test_expired_token_is_401(app: App) -> None:
    assert BoundClient(app, "user-1", seconds=0).post("sessions", make_body()).status == 401


def test_another_keys_token_is_401(app: App) -> None:
    other = BoundClient(app, "user-1")

    answer = BoundClient(app, "user-1").post("sessions", make_body(), X_Subject_Token=other.token)

    assert answer.status == 401


def test_key_that_demands_none_ignores_it(app: App) -> None:
    client = ApiClient(make_key(app)[1])

    assert client.post("sessions", make_body(), X_Subject_Token="nonsense").status == 201


def test_a_key_bound_to_a_subject_searches_what_is_shared_and_reads_only_its_own(app: App) -> None:
    shared = share(app)
    bound = BoundClient(app, "user-1")

    found = bound.post("search", {"user_id": "user-1", "query": GOAL})
    read = bound.get(f"episodes/{shared.id}")

    assert [memory["episode_id"] for memory in found.body["memories"]] == [str(shared.id)]
    assert read.status == 404
