from __future__ import annotations

import pytest

from episodes.lifecycle import Statement, state_outcome
from episodes.models import App, Episode, OutcomeEntry
from tests.episodes.api.client import ApiClient
from tests.factories import ACTOR, make_app, make_episode, make_key, make_tombstone

BODY = {"user_id": "user-1", "session_id": "session-1", "outcome": "failed"}


@pytest.fixture
def episode(app: App) -> Episode:
    return make_episode(app, session_id="session-1", outcome=None)


def test_tool_says_how_it_ended(client: ApiClient, episode: Episode) -> None:
    answer = client.post("outcomes", BODY | {"score": 0.25, "evidence": {"test": "refund_42"}})

    entry = OutcomeEntry.objects.get()
    assert answer.status == 201
    assert answer.body == {
        "entry_id": str(entry.id),
        "episode_id": str(episode.id),
        "outcome": "failure",
        "outcome_source": "tool",
        "contradicted": False,
    }
    assert (entry.source, entry.score, entry.evidence) == ("tool", 0.25, {"test": "refund_42"})
    assert entry.key_prefix == (client.key or "").split("_")[1]


def test_later_statement_of_a_tool_holds(client: ApiClient, episode: Episode) -> None:
    client.post("outcomes", BODY)

    answer = client.post("outcomes", BODY | {"outcome": "success"})

    assert answer.body["outcome"] == "success"
    assert OutcomeEntry.objects.count() == 2


def test_reviewer_stands_above_a_tool(client: ApiClient, episode: Episode) -> None:
    statement = Statement(outcome="success", source="reviewer")
    state_outcome(episode=episode, statement=statement, actor=ACTOR)

    answer = client.post("outcomes", BODY)

    told = [answer.body[name] for name in ("outcome", "outcome_source", "contradicted")]
    assert told == ["success", "reviewer", True]


def test_evidence_is_masked(client: ApiClient, episode: Episode) -> None:
    evidence = {
        "note": "asked by maria.lopez@example.com",
        "user-1": ["user-1", {"card": "4111 1111 1111 1111"}],
        "amount": 640,
        "ok": True,
    }

    client.post("outcomes", BODY | {"evidence": evidence})

    stored = OutcomeEntry.objects.get().evidence
    text = str(stored)
    assert all(secret not in text for secret in ("maria.lopez", "user-1", "4111"))
    assert (stored["amount"], stored["ok"]) == (640, True)


def test_evidence_may_be_a_text(client: ApiClient, episode: Episode) -> None:
    client.post("outcomes", BODY | {"evidence": "nightly check"})

    assert OutcomeEntry.objects.get().evidence == {"text": "nightly check"}


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("outcome", "great"),
        ("outcome", None),
        ("outcome", 1),
        ("score", "0.5"),
        ("evidence", 1),
        ("evidence", ["x"]),
        ("evidence", "a\0b"),
        ("evidence", {"a\0": 1}),
        ("evidence", {"a": [{"b": "\0"}]}),
        ("evidence", "x" * 8_200),
    ],
)
def test_bad_member_is_422(client: ApiClient, episode: Episode, member: str, value: object) -> None:
    answer = client.post("outcomes", BODY | {member: value})

    assert answer.status == 422
    assert [error["pointer"] for error in answer.body["errors"]] == [f"/{member}"]
    assert OutcomeEntry.objects.count() == 0


@pytest.mark.parametrize(
    "other", [{"user_id": "user-10"}, {"session_id": "session-10"}, {"episode_key": "task-2"}]
)
def test_outcome_of_what_is_not_there_is_404(
    client: ApiClient, episode: Episode, other: dict[str, str]
) -> None:
    answer = client.post("outcomes", BODY | other)

    assert (answer.status, answer.errors) == (404, [("", "not_found")])
    assert OutcomeEntry.objects.count() == 0


def test_another_apps_session_is_404(episode: Episode) -> None:
    outsider = ApiClient(make_key(make_app())[1])

    assert outsider.post("outcomes", BODY).status == 404
    assert OutcomeEntry.objects.count() == 0


def test_erased_subject_is_410(client: ApiClient, app: App, episode: Episode) -> None:
    make_tombstone(app, "user-1")

    assert client.post("outcomes", BODY).status == 410
    assert OutcomeEntry.objects.count() == 0


@pytest.mark.parametrize("number", [1e21, -1e21, 1e308, 2**63, -(2**63), 2**64 - 1])
def test_a_number_that_no_reader_gets_back_is_refused(
    client: ApiClient, episode: Episode, number: float
) -> None:
    """PostgreSQL makes an integer of it that is beyond what JSON is written with."""
    answer = client.post("outcomes", BODY | {"evidence": {"of": [{"n": number}]}})

    assert (answer.status, answer.errors) == (422, [("/evidence", "too_large_number")])
    assert OutcomeEntry.objects.count() == 0


def test_every_other_number_comes_back(client: ApiClient, episode: Episode) -> None:
    evidence = {"n": [2**63 - 1, 1 - 2**63, 1e15, 0.1, 5e-324, -0.0, True]}

    assert client.post("outcomes", BODY | {"evidence": evidence}).status == 201
    assert OutcomeEntry.objects.get().evidence == evidence
