from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from episodes.models import App, Recall
from memoryadmin.lib import clock
from tests.episodes.api.client import ApiClient
from tests.factories import GOAL, make_app, make_episode, make_key

BODY = {"user_id": "user-1", "query": GOAL}


def found(answer: Any) -> list[str]:
    return [memory["episode_id"] for memory in answer.body["memories"]]


def test_answer_has_the_shape_of_the_contract(client: ApiClient, app: App) -> None:
    episode = make_episode(app, embedded=True)

    answer = client.post("search", BODY | {"session_id": "session-9"})

    recall = Recall.objects.get()
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "application/json"
    [memory] = answer.body["memories"]
    assert {name: value for name, value in answer.body.items() if name != "memories"} == {
        "recall_id": str(recall.id),
        "arm": None,
        "recall_mode": "exact",
        "degraded": False,
        "candidates": 1,
        "profile": "default@1",
        "context": answer.body["context"],
    }
    assert set(memory) == {
        "episode_id",
        "revision",
        "scope",
        "content",
        "author",
        "timestamp",
        "outcome",
        "outcome_source",
        "reviewed",
        "toolset",
        "similarity",
        "score",
        "lesson",
        "tools",
    }
    assert memory["episode_id"] == str(episode.id)
    assert memory["timestamp"].endswith("Z")
    assert memory["content"].startswith("PRECEDENT (")
    assert memory["content"] in answer.body["context"]


def test_search_sends_two_prepared_statements_and_none_by_the_orm(
    client: ApiClient, app: App, django_assert_num_queries: Any
) -> None:
    make_episode(app, embedded=True)
    client.post("search", BODY)

    with django_assert_num_queries(0):
        assert client.post("search", BODY).status == 200


def test_search_is_logged_with_its_caller(client: ApiClient, app: App) -> None:
    answer = client.post("search", BODY | {"invocation_id": "i-1", "session_id": "s-1"})

    recall = Recall.objects.get()
    assert (recall.user_id, recall.session_id, recall.invocation_id) == ("user-1", "s-1", "i-1")
    assert recall.request_id == answer.headers["X-Request-Id"]
    assert recall.key_prefix == (client.key or "").split("_")[1]


def test_only_the_subjects_own_episodes_of_the_app_are_found(client: ApiClient, app: App) -> None:
    own = make_episode(app, embedded=True)
    make_episode(app, user_id="user-10", embedded=True)
    make_episode(make_app(), embedded=True)

    assert found(client.post("search", BODY)) == [str(own.id)]


def test_explain_tells_factors_and_exclusions(client: ApiClient, app: App) -> None:
    make_episode(app, embedded=True)

    answer = client.post("search", BODY | {"explain": True})

    assert set(answer.body["memories"][0]["factors"]) == {
        "similarity",
        "text",
        "relevance",
        "outcome_weight",
        "toolset_weight",
        "age_days",
        "decay",
        "score",
    }
    assert answer.body["excluded"] == []
    assert Recall.objects.get().explained is True


def test_dry_run_shows_no_content_and_is_no_recall(client: ApiClient, app: App) -> None:
    make_episode(app, embedded=True)

    answer = client.post("search", BODY | {"dry_run": True})

    assert (answer.status, answer.body["recall_id"]) == (200, None)
    assert answer.body["memories"][0].keys().isdisjoint({"content", "lesson", "tools"})
    assert GOAL[:20] not in answer.body["context"]
    assert Recall.objects.count() == 0


@pytest.mark.parametrize("option", ["dry_run", "include_failures"])
def test_analysis_needs_read(app: App, option: str) -> None:
    searcher = ApiClient(make_key(app, "search")[1])
    analyst = ApiClient(make_key(app, "search", "read")[1])

    assert searcher.post("search", BODY | {option: True}).status == 403
    assert analyst.post("search", BODY | {option: True}).status == 200
    assert searcher.post("search", BODY | {option: False}).status == 200


@pytest.mark.parametrize("limit", [1, 2, 3, 50, None])
def test_limit_stays_within_the_profiles_cap(
    client: ApiClient, app: App, limit: int | None
) -> None:
    for tool in ("refund", "lookup", "escalate", "notify"):
        make_episode(app, tools=[tool])

    answer = client.post("search", BODY | {"limit": limit})

    assert len(answer.body["memories"]) == min(limit or 2, 2)


@pytest.mark.parametrize(
    ("filters", "matches"),
    [
        ({}, True),
        ({"agent_id": "refunds", "task_id": "T-1", "issue_type": "refund"}, True),
        ({"tool": "refund", "tags": ["vip"], "outcome": ["resolved", "failure"]}, True),
        ({"error": "TIMEOUT"}, True),
        ({"since": "2000-01-01T00:00:00Z", "until": "2100-01-01T00:00:00+02:00"}, True),
        ({"agent_id": None, "since": None, "min_review": None}, True),
        ({"agent_id": "other"}, False),
        ({"task_id": "other"}, False),
        ({"issue_type": "other"}, False),
        ({"tool": "other"}, False),
        ({"error": "OTHER"}, False),
        ({"tags": ["vip", "other"]}, False),
        ({"outcome": ["failed"]}, False),
        ({"since": "2100-01-01T00:00:00Z"}, False),
        ({"until": "2000-01-01T00:00:00Z"}, False),
        ({"min_review": "reviewed"}, False),
    ],
)
def test_filters(client: ApiClient, app: App, filters: dict[str, object], matches: bool) -> None:
    episode = make_episode(
        app,
        agent_id="refunds",
        task_id="T-1",
        issue_type="refund",
        tags=("vip", "late"),
        error="TIMEOUT",
        embedded=True,
    )

    answer = client.post("search", BODY | {"filters": filters})

    assert answer.status == 200
    assert found(answer) == ([str(episode.id)] if matches else [])


@pytest.mark.parametrize(
    ("member", "value", "pointer"),
    [
        ("query", "", "/query"),
        ("query", None, "/query"),
        ("query", ["refund"], "/query"),
        ("query", "a\0b", "/query"),
        ("scope", "everybody", "/scope"),
        ("scope", None, "/scope"),
        ("limit", 0, "/limit"),
        ("limit", -1, "/limit"),
        ("limit", "2", "/limit"),
        ("limit", 2**40, "/limit"),
        ("filter", {"outcome": ["failure"]}, "/filter"),
        ("filters", [], "/filters"),
        ("filters", {"user_id": "user-2"}, "/filters/user_id"),
        ("filters", {"since": "2026-03-01T12:00:00"}, "/filters/since"),
        ("filters", {"outcome": "success"}, "/filters/outcome"),
        ("filters", {"outcome": ["great"]}, "/filters/outcome/0"),
        ("filters", {"min_review": "unreviewed"}, "/filters/min_review"),
        ("filters", {"tags": ["a\0"]}, "/filters/tags/0"),
        ("session_id", "", "/session_id"),
        ("explain", 1, "/explain"),
        ("toolset_version", "x" * 129, "/toolset_version"),
    ],
)
def test_bad_member_is_422(client: ApiClient, member: str, value: object, pointer: str) -> None:
    answer = client.post("search", BODY | {member: value})

    assert answer.status == 422
    assert [error["pointer"] for error in answer.body["errors"]] == [pointer]
    assert Recall.objects.count() == 0


def test_longest_query_is_taken_and_a_longer_one_is_413(client: ApiClient) -> None:
    longest = client.post("search", BODY | {"query": "refund " * 1142 + "refund"})
    longer = client.post("search", BODY | {"query": "x" * 8_001})

    assert longest.status == 200
    assert (longer.status, longer.errors) == (413, [("/query", "query_too_long")])


@pytest.mark.parametrize(
    "query", ["the of and", "🦊🦊🦊", "!!!", " ", "%", "'", "\\", "a & b | !c:*"]
)
def test_query_without_words_is_answered(client: ApiClient, app: App, query: str) -> None:
    make_episode(app, embedded=True)

    assert client.post("search", BODY | {"query": query}).status == 200


def test_expired_episode_is_not_found(client: ApiClient, app: App) -> None:
    make_episode(app, embedded=True)

    with clock.at(clock.now() + timedelta(days=181)):
        assert found(client.post("search", BODY)) == []
