"""Ids that break systems which look for prefixes or patterns, or join keys into one text.

Somebody else's data is always there to leak: neighbours by prefix, by pattern, by joining.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from episodes.embedding.pipeline import embed_due
from episodes.ingest.safe_text import clean
from episodes.models import App, Episode, Feedback, OutcomeEntry, Recall
from tests.episodes.api.client import ApiClient
from tests.episodes.export.lines import export
from tests.factories import GOAL, make_body, make_episode

NEIGHBOURS = [
    ("user1", "session"),
    ("user10", "session"),
    ("user", "1session"),
    ("a/b", "c"),
    ("a", "b/c"),
    ("ab", "c"),
    ("A/B", "c"),
    ("xyz", "xyz"),
    ("élodie", "session"),
]
HOSTILE = [
    "use",
    "user1%",
    "user_",
    "%",
    "_",
    "%%",
    "*",
    ".*",
    "a/b|c",
    "a/b/c",
    "a/",
    "/",
    "../",
    "../../etc/passwd",
    "USER1",
    "user1 ",
    " user1",
    "user1\n",
    "user1\t",
    "user1\u200b",
    "e\u0301lodie",
    "'; drop table episodes_episode; --",
    "user1' OR '1'='1",
    "\\",
    "%s",
    "{}",
    "<script>alert(1)</script>",
    "null",
    "0",
    "🦊" * 256,
    "x" * 256,
    "\u202euser1",
    "\x01",
]
REFUSED = ["", "user1\0", "\0", "x" * 257, "🦊" * 257]


def short(value: str) -> str:
    return ascii(value)[:24]


refused = pytest.mark.parametrize("value", REFUSED, ids=short)


@pytest.fixture
def neighbours(app: App) -> dict[str, Episode]:
    made = {
        f"{user_id}|{session_id}": make_episode(app, user_id=user_id, session_id=session_id)
        for user_id, session_id in NEIGHBOURS
    }
    embed_due(app=app)
    return made


def rows() -> dict[str, int]:
    return {
        model.__name__: model.objects.count() for model in (Episode, Feedback, OutcomeEntry, Recall)
    }


def test_search_sees_no_neighbour(client: ApiClient, neighbours: dict[str, Episode]) -> None:
    for user_id in HOSTILE:
        answer = client.post("search", {"user_id": user_id, "query": GOAL, "explain": True})

        assert answer.status == 200, user_id
        found = [answer.body[name] for name in ("memories", "candidates", "excluded")]
        assert found == [[], 0, []], user_id
    assert sorted(Recall.objects.values_list("user_id", flat=True)) == sorted(HOSTILE)


def test_search_finds_the_subjects_own(
    client: ApiClient, app: App, neighbours: dict[str, Episode]
) -> None:
    own = {user_id: str(make_episode(app, user_id=user_id).id) for user_id in HOSTILE}
    embed_due(app=app)

    for user_id, episode_id in own.items():
        answer = client.post("search", {"user_id": user_id, "query": GOAL})

        found = [memory["episode_id"] for memory in answer.body["memories"]]
        assert found == [episode_id], user_id


def test_status_sees_no_neighbour(client: ApiClient, neighbours: dict[str, Episode]) -> None:
    for user_id, (_, session_id) in product(HOSTILE, NEIGHBOURS):
        query = {"user_id": user_id, "session_id": session_id}

        assert client.get("sessions/status", query).status == 404, query


@pytest.mark.parametrize("user_id", HOSTILE, ids=short)
def test_ids_are_taken_in_every_place(client: ApiClient, user_id: str) -> None:
    identity = {"user_id": user_id, "session_id": user_id, "episode_key": user_id}
    body = make_body(agent_id=f"of {user_id}"[:256], task_id=user_id, **identity)

    written = client.post("sessions", body)
    status = client.get("sessions/status", identity)
    outcome = client.post("outcomes", identity | {"outcome": "failure"})
    feedback = client.post(
        "feedback",
        {"user_id": user_id, "session_id": user_id, "feedback_id": user_id, "rating": "neutral"},
    )
    trace = client.get(f"episodes/{written.body['episode_id']}")

    statuses = [answer.status for answer in (written, status, outcome, feedback, trace)]
    assert statuses == [201, 200, 201, 201, 200]
    assert outcome.body["episode_id"] == status.body["episode_id"] == written.body["episode_id"]
    assert {name: trace.body[name] for name in identity} == identity
    assert Feedback.objects.get().feedback_id == user_id


def test_outcome_touches_no_neighbour(client: ApiClient, neighbours: dict[str, Episode]) -> None:
    before = list(Episode.objects.order_by("id").values())

    for user_id, (_, session_id) in product(HOSTILE, NEIGHBOURS):
        body = {"user_id": user_id, "session_id": session_id, "outcome": "failure"}
        assert client.post("outcomes", body).status == 404, body

    assert list(Episode.objects.order_by("id").values()) == before


def test_stats_count_no_neighbour(client: ApiClient, neighbours: dict[str, Episode]) -> None:
    totals = {
        user_id: client.get("stats", {"user_id": user_id}).body["total"] for user_id in HOSTILE
    }

    assert totals == dict.fromkeys(HOSTILE, 0)


def test_an_export_holds_no_neighbour(
    app: App, client: ApiClient, neighbours: dict[str, Episode]
) -> None:
    assert client.key is not None
    sessions = sorted({session_id for _, session_id in NEIGHBOURS})

    for value in HOSTILE:
        assert export(client.key, {"user_id": value}).lines == [], value
    for value in HOSTILE:
        assert export(client.key, {"user_id": "user1", "session_id": value}).lines == [], value
    for user_id, session_id in product({user_id for user_id, _ in NEIGHBOURS}, sessions):
        found = export(client.key, {"user_id": user_id, "session_id": session_id}).sessions
        assert found == [pair for pair in NEIGHBOURS if pair == (user_id, session_id)]


def test_filters_match_by_equality(client: ApiClient, app: App) -> None:
    make_episode(app, agent_id="user1", task_id="user1", issue_type="user1", embedded=True)
    body = {"user_id": "user-1", "query": GOAL}
    assert len(client.post("search", body).body["memories"]) == 1

    # labels are stored without what cannot be seen, and asked for alike
    others = [value for value in HOSTILE if clean(value).strip() != "user1"]
    for value, name in product(others, ("agent_id", "task_id", "tool", "error", "issue_type")):
        answer = client.post("search", body | {"filters": {name: value}})

        is_too_long = name not in ("agent_id", "task_id") and len(value) > 128
        expected: tuple[int, list[object] | None] = (422, None) if is_too_long else (200, [])
        assert (answer.status, answer.body.get("memories")) == expected, (name, value)


def test_session_ids_are_not_joined_with_user_ids(
    client: ApiClient, neighbours: dict[str, Episode]
) -> None:
    found = {
        f"{user_id}|{session_id}": client.get(
            "sessions/status", {"user_id": user_id, "session_id": session_id}
        ).body["episode_id"]
        for user_id, session_id in NEIGHBOURS
    }

    assert found == {name: str(episode.id) for name, episode in neighbours.items()}


def requests_with(value: str) -> list[tuple[str, str, dict[str, Any], str]]:
    """Return (method, path, body or query, pointer) with the value in each place of an id."""
    about = {"user_id": "user1", "session_id": "session"}
    found = []
    for name in ("user_id", "session_id"):
        found += [
            ("POST", "sessions", make_body(**about) | {name: value}, f"/{name}"),
            ("POST", "outcomes", about | {"outcome": "success", name: value}, f"/{name}"),
            ("POST", "feedback", about | {"rating": "positive", name: value}, f"/{name}"),
            ("POST", "search", about | {"query": GOAL, name: value}, f"/{name}"),
            ("GET", "sessions/status", about | {name: value}, f"/{name}"),
        ]
    found.append(("GET", "stats", {"user_id": value}, "/user_id"))
    found.append(("GET", "export", {"user_id": value}, "/user_id"))
    found.append(("GET", "export", {"session_id": value}, "/session_id"))
    return found


@refused
def test_impossible_id_is_422_everywhere(
    client: ApiClient, neighbours: dict[str, Episode], value: str
) -> None:
    before = rows()

    for method, path, body, pointer in requests_with(value):
        answer = client.get(path, body) if method == "GET" else client.post(path, body)

        assert answer.status == 422, (method, path, answer)
        assert [error["pointer"] for error in answer.body["errors"]] == [pointer]
    assert rows() == before


@refused
def test_impossible_id_rejects_only_its_item_of_a_batch(
    client: ApiClient, neighbours: dict[str, Episode], value: str
) -> None:
    items = [make_body("u", "s-1"), make_body(value, "s-2"), make_body("u", "s-3")]

    answer = client.post("sessions/batch", {"items": items})

    assert answer.status == 200
    assert [result["status"] for result in answer.body["results"]] == [
        "created",
        "rejected",
        "created",
    ]
    assert answer.body["results"][1]["errors"][0]["pointer"] == "/items/1/user_id"


@pytest.mark.parametrize(
    "version", ["%", "_", "a/b", "..", "a%00b", "%F0%9F%A6%8A" * 64, "x" * 400]
)
def test_hostile_toolset_version_is_404(client: ApiClient, version: str) -> None:
    client.post("toolsets", {"tools": ["refund"], "version": "ab"})

    answer = client.post(f"toolsets/{version}/retire", {})

    assert (answer.status, answer.errors) == (404, [("", "not_found")])


def test_toolset_version_with_a_slash_is_retired(client: ApiClient) -> None:
    client.post("toolsets", {"tools": ["refund"], "version": "team/v1"})

    answer = client.post("toolsets/team/v1/retire")

    assert (answer.status, answer.body["version"]) == (200, "team/v1")


@pytest.mark.parametrize("path", ["%00", "..", "1%27", "01890a5d-ac96-774b-bcce-b302099a805", "%"])
def test_hostile_episode_address_is_404(client: ApiClient, path: str) -> None:
    assert client.get(f"episodes/{path}").status == 404


@pytest.mark.parametrize(
    "path",
    ["stats?user_id=%FF", "export?user_id=%FF", "sessions/status?user_id=%C3%28&session_id=s"],
)
def test_a_query_that_is_no_utf8_is_400(client: ApiClient, path: str) -> None:
    assert client.get(path).status == 400
