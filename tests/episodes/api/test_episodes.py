from __future__ import annotations

from datetime import timedelta

import pytest

from episodes.enums import BlockKind
from episodes.lifecycle import block_episode
from episodes.models import App, EpisodeRevision, OutcomeEntry
from memoryadmin.lib import clock
from tests.episodes.api.client import ApiClient
from tests.episodes.sharing import share
from tests.factories import ACTOR, GOAL, make_app, make_episode, make_key, make_steps, write


def iso(moment: object) -> str:
    return str(moment.isoformat()).replace("+00:00", "Z")  # type: ignore[attr-defined]


def test_episode_is_shown_with_its_trace(client: ApiClient, app: App) -> None:
    episode = make_episode(
        app, session_id="session-1", error="TIMEOUT", agent_id="refunds", embedded=True
    )

    answer = client.get(f"episodes/{episode.id}")

    entry, revision = OutcomeEntry.objects.get(), EpisodeRevision.objects.get()
    assert answer.status == 200
    assert answer.body == {
        "episode_id": str(episode.id),
        "app": app.name,
        "scope": "user",
        "user_id": "user-1",
        "session_id": "session-1",
        "episode_key": "",
        "state": "completed",
        "recall_state": "recallable",
        "review_state": "unreviewed",
        "index_state": "ready",
        "outcome": "success",
        "outcome_source": "tool",
        "contradicted": False,
        "recorded_outcome": "success",
        "outcome_reason": "",
        "score": None,
        "blocks": [],
        "agent_id": "refunds",
        "task_id": "",
        "issue_type": "",
        "tags": [],
        "toolset_version": "",
        "toolset_kind": "opaque",
        "started_at": None,
        "completed_at": iso(episode.completed_at),
        "completed_at_clamped": False,
        "completed_recorded_at": iso(episode.completed_recorded_at),
        "received_at": iso(episode.received_at),
        "revision": 1,
        "goal": GOAL,
        "steps": [
            {"seq": 1, "kind": "call", "tool": "refund", "call_id": "c1"},
            {
                "seq": 2,
                "kind": "result",
                "tool": "refund",
                "call_id": "c1",
                "error": "TIMEOUT",
            },
        ],
        "resolution": "",
        "lesson": revision.lesson,
        "lesson_source": "template",
        "tools": ["refund"],
        "dropped_arguments": [],
        "stripped": {},
        "outcomes": [
            {
                "entry_id": str(entry.id),
                "at": iso(entry.at),
                "outcome": "success",
                "source": "tool",
                "revision": 1,
                "score": None,
                "reason": "",
                "retracts": None,
                "stated_by": "tests",
                "said_at": None,
                "attributed_to": "",
            }
        ],
        "revisions": [
            {
                "revision": 1,
                "written_at": iso(revision.written_at),
                "content_hash": revision.content_hash,
                "recorded_outcome": "success",
                "score": None,
                "agent_id": "refunds",
                "task_id": "",
                "issue_type": "",
                "tags": [],
                "started_at": None,
                "n_events": 2,
                "sequence": None,
                "is_final": True,
                "format": "episode",
                "blocks": [],
            }
        ],
    }


def test_later_revision_is_listed_before_it_is_served(client: ApiClient, app: App) -> None:
    episode = make_episode(app, session_id="session-1", embedded=True)
    steps = make_steps(["lookup", "refund"])
    write(app, session_id="session-1", session={"goal": "Another goal than before", "steps": steps})

    answer = client.get(f"episodes/{episode.id}")

    assert [revision["revision"] for revision in answer.body["revisions"]] == [1, 2]
    assert (answer.body["revision"], answer.body["goal"]) == (1, GOAL)


def test_blocks_are_named(client: ApiClient, app: App) -> None:
    episode = make_episode(app)
    for kind in (BlockKind.QUARANTINE, BlockKind.LEGAL, BlockKind.QUARANTINE):
        block_episode(episode=episode, kind=kind, actor=ACTOR)

    answer = client.get(f"episodes/{episode.id}")

    assert (answer.body["blocks"], answer.body["recall_state"]) == (
        ["quarantine", "legal"],
        "blocked",
    )


def test_another_apps_episode_is_404_like_none(client: ApiClient, app: App) -> None:
    theirs = make_episode(make_app())

    foreign = client.get(f"episodes/{theirs.id}")
    absent = client.get("episodes/01890a5d-ac96-774b-bcce-b302099a8057")

    assert foreign.status == absent.status == 404
    assert foreign.body == absent.body


def test_expired_episode_is_404(client: ApiClient, app: App) -> None:
    episode = make_episode(app)

    with clock.at(clock.now() + timedelta(days=app.retention_days)):
        assert client.get(f"episodes/{episode.id}").status == 404


def test_retention_that_was_shortened_holds_at_once(client: ApiClient, app: App) -> None:
    episode = make_episode(app, completed_at=clock.now() - timedelta(days=10))
    assert client.get(f"episodes/{episode.id}").status == 200

    app.retention_days = 9
    app.save(update_fields=["retention_days"])

    assert client.get(f"episodes/{episode.id}").status == 404


def test_key_of_another_app_learns_nothing(app: App) -> None:
    episode = make_episode(app)
    outsider = ApiClient(make_key(make_app())[1])

    assert outsider.get(f"episodes/{episode.id}").status == 404


def test_what_is_shared_is_read_without_naming_a_subject(client: ApiClient, app: App) -> None:
    shared = share(app, wording_of="user-1")

    answer = client.get(f"episodes/{shared.id}")

    assert (answer.status, answer.body["scope"]) == (200, "org")
    assert (answer.body["user_id"], answer.body["session_id"]) == (None, None)
    assert "wording_hash" not in answer.body


def test_a_query_that_names_another_subject_or_app_is_404(client: ApiClient, app: App) -> None:
    episode = make_episode(app, user_id="user-1")
    queries = [
        {},
        {"user_id": "user-1", "app": app.name},
        {"user_id": "user-10"},
        {"app": "another"},
    ]

    answers = [client.get(f"episodes/{episode.id}", query) for query in queries]

    assert [answer.status for answer in answers] == [200, 200, 404, 404]


@pytest.mark.parametrize("path", ["stats", "sessions/status", "episodes/{}", "episodes/{}/recalls"])
def test_a_parameter_that_narrows_nothing_is_422(client: ApiClient, app: App, path: str) -> None:
    episode = make_episode(app, session_id="session-1")
    asked = {"user_id": "user-1"} | ({"session_id": "session-1"} if "status" in path else {})

    known = client.get(path.format(episode.id), asked)
    unknown = client.get(path.format(episode.id), asked | {"userid": "user-2"})

    assert known.status == 200
    assert (unknown.status, unknown.errors) == (422, [("/userid", "unknown_member")])
