"""Shadow recall on the real database: held before the first recall, or not at all."""

from __future__ import annotations

import math
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from episodes import lifecycle
from episodes.embedding.outage import forget_outages
from episodes.embedding.pipeline import embed_due
from episodes.enums import IndexState, RecallState
from episodes.models import App, AuditEntry, Block, Episode, PendingEmbedding
from episodes.trust import shadow
from episodes.trust.replay import QueryVectors, ReplayNotReadyError
from tests.episodes.asking import ask, served
from tests.episodes.embedding.provider import Provider, Reply, as_json
from tests.episodes.trust.busy_app import live, magnet, questions, unrelated
from tests.factories import ACTOR, make_app, make_episode, make_steps, write

pytestmark = pytest.mark.django_db

ASKED = questions(60)
# In no word of what is asked; the provider below puts it in the middle of that.
NEAR_ALL = "Kindly do as before"


@pytest.fixture(autouse=True)
def _read_anew() -> Iterator[None]:
    shadow.forget_readings()
    yield
    shadow.forget_readings()


@pytest.fixture
def app() -> App:
    app = make_app()
    live(app, ASKED)
    return app


def held(app: App) -> list[tuple[str, str, int | None]]:
    blocks = Block.objects.filter(app=app, closed_at__isnull=True)
    return [(one.kind, one.reason, one.revision) for one in blocks]


def stuffed(goal: str = "Renew my passport") -> dict[str, Any]:
    return {"goal": goal, "steps": make_steps(("renew",)), "lesson": magnet(ASKED)}


def test_a_text_that_would_be_first_for_everything_is_held_when_it_comes_in(app: App) -> None:
    answer = write(app, user_id="subject-3", session=stuffed())

    assert (answer.status, answer.reason) == ("held", "shadow_recall")
    assert held(app) == [("held", "shadow_recall", 1)]
    block = Block.objects.get(app=app)
    assert (block.figures["queries_of"], block.figures["side"]) == ("app", "text")
    assert block.figures["share"] > 0.8
    assert block.figures["queries"] == 60
    assert Episode.objects.get(id=block.episode_id).recall_state == RecallState.BLOCKED


def towards(texts: list[str]) -> Reply:
    """Questions lie around one direction, the magnet in it, and all the rest elsewhere."""
    return as_json(
        {"data": [{"index": i, "embedding": _towards(text)} for i, text in enumerate(texts)]}
    )


def _towards(text: str) -> list[float]:
    if text == NEAR_ALL:
        return [1.0, 0.0, 0.0, 0.0]
    aside = [byte / 255 - 0.5 for byte in sha256(text.encode()).digest()[:3]]
    length = math.hypot(*aside) or 1.0
    return [0.8 if text in ASKED else -0.8, *(0.6 * one / length for one in aside)]


@pytest.fixture
def remote_app(provider_in_use: Provider) -> App:
    provider_in_use.answer = towards
    app = make_app()
    live(app, ASKED, goals=unrelated())
    # four dimensions have no room for more kinds
    App.objects.filter(pk=app.pk).update(review_rules={"shadow": {"least_kinds": 10}})
    app.refresh_from_db()
    return app


def test_a_vector_that_would_be_first_is_held_in_the_transaction_that_writes_it(
    remote_app: App,
) -> None:
    episode = make_episode(remote_app, goal=NEAR_ALL, user_id="subject-3")
    assert episode.recall_state == RecallState.RECALLABLE

    assert embed_due(app=remote_app) == 1

    episode.refresh_from_db()
    block = Block.objects.get(app=remote_app, episode=episode)
    assert (block.reason, block.figures["side"]) == ("shadow_recall", "vector")
    assert block.figures["share"] == 1.0
    assert (episode.index_state, episode.recall_state) == (IndexState.READY, RecallState.BLOCKED)
    assert served(ask(remote_app, ASKED[0], user_id="subject-3")) == []


def test_an_ordinary_episode_is_not_held(app: App) -> None:
    for number, goal in enumerate(questions(30, seed=5)):
        make_episode(app, goal=goal, user_id=f"subject-{number % 10}", embedded=True)

    assert held(app) == []


def test_what_was_stored_says_who_held_it_and_why(app: App) -> None:
    answer = write(app, user_id="subject-3", session=stuffed())

    [entry] = AuditEntry.objects.filter(target_id=str(answer.episode_id))
    assert (entry.verb, entry.actor) == ("episode.created", "tests")
    assert Block.objects.get(app=app).opened_by == "system"


def test_an_app_that_has_asked_too_little_holds_nothing() -> None:
    app = make_app()
    live(app, ASKED[:19])

    assert write(app, user_id="subject-3", session=stuffed()).status == "created"


def test_another_apps_questions_hold_nothing(app: App) -> None:
    other = make_app()
    live(other, ["What is the weather like?"])

    assert write(other, user_id="subject-3", session=stuffed()).status == "created"


def test_it_can_be_switched_off(app: App) -> None:
    App.objects.filter(pk=app.pk).update(review_rules={"shadow": {"is_on": False}})
    app.refresh_from_db()

    assert write(app, user_id="subject-3", session=stuffed()).status == "created"


def test_a_subjects_own_questions_hold_what_would_be_first_for_most_of_them() -> None:
    app = make_app()
    own = questions(15)
    live(app, own, goals=unrelated(6), n_subjects=1)

    answer = write(app, user_id="subject-0", session=stuffed())

    assert (answer.status, answer.reason) == ("held", "shadow_recall")
    assert Block.objects.get(app=app).figures["queries_of"] == "subject"


def test_somebody_elses_questions_are_not_the_subjects_own() -> None:
    app = make_app()
    live(app, questions(15), goals=unrelated(6), n_subjects=1)

    assert write(app, user_id="subject-1", session=stuffed()).status == "created"


def test_one_session_cannot_drown_what_the_others_ask(app: App) -> None:
    for number in range(150):
        ask(app, f"noise number {number} of nothing", user_id="subject-3", session_id="flood")
    shadow.forget_readings()

    assert write(app, user_id="subject-3", session=stuffed()).status == "held"


def test_a_held_revision_leaves_the_one_before_in_recall(app: App) -> None:
    first = make_episode(
        app,
        goal="Renew my passport",
        user_id="subject-3",
        session_id="run",
        sequence=1,
        embedded=True,
    )

    answer = write(app, user_id="subject-3", session_id="run", sequence=2, session=stuffed())

    first.refresh_from_db()
    assert (answer.status, answer.revision) == ("held", 2)
    assert (first.revision, first.recall_state) == (1, RecallState.RECALLABLE)


def test_what_a_person_released_is_not_held_again_when_its_vector_comes(app: App) -> None:
    answer = write(app, user_id="subject-3", session=stuffed(magnet(ASKED)))
    lifecycle.lift_block(block=Block.objects.get(app=app), actor=ACTOR)

    embed_due(app=app)

    episode = Episode.objects.get(app=app, user_id="subject-3", session_id="session-1")
    assert answer.status == "held"
    assert (episode.index_state, episode.recall_state) == (
        IndexState.READY,
        RecallState.RECALLABLE,
    )


def test_past_queries_that_cannot_be_embedded_postpone_the_vector_and_skip_nothing(
    remote_app: App, provider_in_use: Provider
) -> None:
    episode = make_episode(remote_app, goal=NEAR_ALL, user_id="subject-3")
    shadow.forget_readings()

    def only_the_newcomer(texts: list[str]) -> Reply:
        return towards(texts) if texts == [NEAR_ALL] else Reply(status=503)

    provider_in_use.answer = only_the_newcomer
    assert embed_due(app=remote_app) == 0
    episode.refresh_from_db()
    waiting = PendingEmbedding.objects.get(app=remote_app)
    assert (episode.index_state, waiting.last_error) == (IndexState.PENDING, "status_503")

    provider_in_use.answer = towards
    forget_outages()
    PendingEmbedding.objects.update(next_attempt_at=waiting.created_at)
    assert embed_due(app=remote_app) == 1
    assert held(remote_app) == [("held", "shadow_recall", 1)]


def test_a_provider_is_asked_for_one_batch_of_past_queries_at_a_time() -> None:
    asked: list[int] = []

    class Remote:
        name, batch = "remote", 4

        def embed(self, texts: Any, **_: Any) -> list[list[float] | None]:
            asked.append(len(texts))
            return [[1.0, 0.0]] * len(texts)

    vectors, texts = QueryVectors(), [f"query {number}" for number in range(10)]
    for _ in range(2):
        with pytest.raises(ReplayNotReadyError):
            vectors.of(texts, generation="g", embedder=Remote())  # type: ignore[arg-type]

    assert len(vectors.of(texts, generation="g", embedder=Remote())) == 10  # type: ignore[arg-type]
    assert asked == [4, 4, 2]
    vectors.of(texts, generation="g", embedder=Remote())  # type: ignore[arg-type]
    assert asked == [4, 4, 2]


@pytest.mark.parametrize("n", [1, 10])
def test_judging_costs_the_same_few_queries(app: App, n: int) -> None:
    for number in range(n):
        make_episode(app, goal=questions(n, seed=9)[number], user_id="subject-3")
    embed_due(app=app)
    make_episode(app, goal="Please rename the printer soon", user_id="subject-3")

    with CaptureQueriesContext(connection) as asked:
        embed_due(app=app)

    reading = [q for q in asked if "episodes_recall" in q["sql"] or "vector_send" in q["sql"]]
    assert len(reading) <= 2


@pytest.mark.django_db(transaction=True)
def test_no_other_connection_ever_sees_it_recallable_by_its_vector(
    remote_app: App, app_connection: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Look from outside right before the commit that writes the vector, and right after it."""
    seen: list[tuple[str, str]] = []
    episode = make_episode(remote_app, goal=NEAR_ALL, user_id="subject-3")

    def look() -> None:
        [row] = app_connection.execute(
            "SELECT e.recall_state, count(v.*)::text FROM episodes_episode e"
            " LEFT JOIN episodes_episodevector v ON v.episode_id = e.id"
            " WHERE e.id = %s GROUP BY e.recall_state",
            [episode.id],
        ).fetchall()
        seen.append(row)

    serve = lifecycle.serve_revision

    def looking(**members: Any) -> Episode:
        found = serve(**members)
        look()
        return found

    monkeypatch.setattr(lifecycle, "serve_revision", looking)
    embed_due(app=remote_app)
    look()

    assert seen == [("recallable", "0"), ("blocked", "1")]
