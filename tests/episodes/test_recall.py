"""The refund story, similarities injected, through the statement itself; and real embeddings."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest

from episodes import lifecycle, ranking
from episodes.audit import SYSTEM
from episodes.lifecycle import Statement
from episodes.models import (
    App,
    Episode,
    RankingProfile,
    Recall,
    RecallHit,
)
from episodes.toolset_hash import Tool
from episodes.toolsets import declare_toolset
from memoryadmin.lib import clock
from tests.episodes.asking import QUERY, USER, aged, ask, caller_of, inject_similarity, served
from tests.episodes.sharing import share
from tests.factories import ACTOR, GOAL, make_app, make_episode

pytestmark = pytest.mark.django_db


@pytest.fixture
def app() -> App:
    return make_app()


@pytest.fixture
def story(app: App) -> dict[str, Episode]:
    """The three episodes of product.md §3, at a failure threshold of 0.85 as in the article."""
    profile = RankingProfile.objects.create(app=app, version=2, minimum=0.3, failure_threshold=0.85)
    App.objects.filter(id=app.id).update(profile=profile)
    declare_toolset(app=app, tools=[Tool(name="open_approval_ticket")], actor=ACTOR, version="v2")
    common: dict[str, Any] = {"user_id": USER, "embedded": True, "goal": GOAL}
    episodes = {
        "A": make_episode(
            app, tools=["open_approval_ticket"], toolset_version="v2", **aged(12), **common
        ),
        "B": make_episode(
            app,
            tools=["refund_payment"],
            error="APPROVAL_REQUIRED",
            outcome="failure",
            toolset_version="v2",
            **aged(30),
            **common,
        ),
        "C": make_episode(
            app, tools=["legacy_refund"], toolset_version="v1", **aged(150), **common
        ),
    }
    for name, similarity in (("A", 0.91), ("B", 0.88), ("C", 0.86)):
        inject_similarity(episodes[name], QUERY, similarity)
    return episodes


def test_the_refund_story_factor_by_factor(app: App, story: dict[str, Episode]) -> None:
    answer = ask(app, explain=True)

    assert served(answer) == [story["A"].id, story["B"].id]
    factors = [memory["factors"] for memory in answer["memories"]]
    shown = [{name: round(value, 3) for name, value in each.items()} for each in factors]
    assert shown == [
        {
            "similarity": 0.91,
            "text": shown[0]["text"],
            "relevance": 0.91,
            "outcome_weight": 1.0,
            "toolset_weight": 1.0,
            "age_days": 12.0,
            "decay": 0.875,
            "score": 0.796,
        },
        {
            "similarity": 0.88,
            "text": shown[1]["text"],
            "relevance": 0.88,
            "outcome_weight": 0.6,
            "toolset_weight": 1.0,
            "age_days": 30.0,
            "decay": 0.717,
            "score": 0.378,
        },
    ]
    [left] = answer["excluded"]
    assert (left["episode_id"], left["reason"], round(left["score"], 3)) == (
        str(story["C"].id),
        "cap",
        0.049,
    )


def test_the_failure_is_left_out_below_its_threshold(app: App, story: dict[str, Episode]) -> None:
    inject_similarity(story["B"], QUERY, 0.84)

    answer = ask(app, explain=True)

    assert served(answer) == [story["A"].id, story["C"].id]
    assert [(left["episode_id"], left["reason"]) for left in answer["excluded"]] == [
        (str(story["B"].id), "failure_below_threshold")
    ]


def test_the_statement_says_what_the_rule_says(app: App, story: dict[str, Episode]) -> None:
    profile = caller_of(app).profile

    hits = {memory["episode_id"]: memory for memory in ask(app, explain=True)["memories"]}

    for episode in (story["A"], story["B"]):
        factors = hits[episode.id]["factors"]
        assert factors["score"] == pytest.approx(
            ranking.score(
                profile,
                similarity=factors["similarity"],
                text=factors["text"],
                outcome=episode.outcome,
                outcome_source=episode.outcome_source,
                toolset=hits[episode.id]["toolset"],
                age_days=factors["age_days"],
            ).score
        )


def test_a_recall_is_logged_as_it_was_served(app: App, story: dict[str, Episode]) -> None:
    answer = ask(app, session_id="s-now", invocation_id="i-1")

    recall = Recall.objects.get(app=app)
    assert (recall.id, recall.n_hits, recall.candidates, recall.profile, recall.session_id) == (
        answer["recall_id"],
        2,
        3,
        "default@2",
        "s-now",
    )
    hits = RecallHit.objects.filter(app=app, recall_id=recall.id).order_by("rank")
    assert [(hit.rank, hit.episode_id, hit.revision, hit.outcome) for hit in hits] == [
        (1, story["A"].id, 1, "success"),
        (2, story["B"].id, 1, "failure"),
    ]
    assert [hit.content_hash for hit in hits] == [
        episode.revisions.get().content_hash for episode in (story["A"], story["B"])
    ]
    assert [round(hit.score, 3) for hit in hits] == [0.796, 0.378]


def test_the_id_of_a_recall_names_its_moment(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """In whose month it is looked for."""
    seconds = count()
    late = datetime(2026, 11, 30, 23, 59, 50, tzinfo=UTC)
    monkeypatch.setattr(clock, "now", lambda: late + timedelta(seconds=next(seconds)))

    ask(app)

    recall = Recall.objects.get(app=app)
    assert recall.id.int >> 80 == int(recall.recalled_at.timestamp() * 1000)


def test_a_dry_run_is_no_recall(app: App, story: dict[str, Episode]) -> None:
    answer = ask(app, dry_run=True)

    assert served(answer) == [story["A"].id, story["B"].id]
    assert answer["recall_id"] is None
    assert all("content" not in memory and "lesson" not in memory for memory in answer["memories"])
    assert Recall.objects.filter(app=app).count() == 0


PARAPHRASES = [
    (
        "Refund the 640 dollar duplicate charge on invoice 8812.",
        "customer was billed twice, refund the duplicate charge",
    ),
    (
        "Restart the payment service that fails its health check.",
        "the payment service is failing health checks, restart it",
    ),
    (
        "Backfill the missing partitions of the orders table.",
        "orders table has missing partitions, run the backfill",
    ),
]


def test_paraphrases_find_their_episode_with_the_real_embedder(app: App) -> None:
    episodes = {
        goal: make_episode(app, user_id=USER, goal=goal, tools=[f"tool_{n}"], embedded=True)
        for n, (goal, _) in enumerate(PARAPHRASES)
    }

    found = {goal: served(ask(app, query))[:1] for goal, query in PARAPHRASES}

    assert found == {goal: [episode.id] for goal, episode in episodes.items()}


@pytest.mark.parametrize(
    "query", ["APPROVAL_REQUIRED", "open_approval_ticket", "inv-8812", "INV-8812"]
)
def test_a_code_a_tool_or_an_identifier_alone_finds_its_episode(app: App, query: str) -> None:
    wanted = make_episode(
        app,
        user_id=USER,
        goal="Please settle the dispute about INV-8812 for me.",
        tools=["open_approval_ticket"],
        session=_with_error("APPROVAL_REQUIRED"),
        embedded=True,
    )
    make_episode(app, user_id=USER, goal="Close the account of the customer.", embedded=True)

    assert served(ask(app, query)) == [wanted.id]


def _with_error(code: str) -> dict[str, Any]:
    return {
        "goal": "Please settle the dispute about INV-8812 for me.",
        "steps": [
            {"kind": "call", "tool": "open_approval_ticket", "call_id": "1"},
            {"kind": "result", "tool": "open_approval_ticket", "call_id": "1", "error": code},
        ],
    }


def test_degraded_search_answers_from_text_alone(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = make_episode(app, user_id=USER, session=_with_error("QUOTA_EXCEEDED"))
    make_episode(app, user_id=USER, goal="Close the account of the customer.")
    App.objects.filter(id=app.id).update(generation=None)

    by_code, by_words = ask(app, "QUOTA_EXCEEDED"), ask(app, "settle dispute")

    assert [by_code["degraded"], by_words["degraded"]] == [True, True]
    assert [served(by_code), served(by_words)] == [[wanted.id], [wanted.id]]
    assert by_code["memories"][0]["similarity"] is None


def test_a_failure_is_never_returned_without_a_vector(app: App) -> None:
    make_episode(app, user_id=USER, session=_with_error("QUOTA_EXCEEDED"), outcome="failure")

    answer = ask(app, "QUOTA_EXCEEDED", explain=True)

    assert served(answer) == []
    assert [left["reason"] for left in answer["excluded"]] == ["failure_below_threshold"]


def test_one_result_per_procedure_and_outcome(app: App) -> None:
    fresh = make_episode(app, user_id=USER, embedded=True, **aged(1))
    stale = make_episode(app, user_id=USER, embedded=True, **aged(40))
    other = make_episode(app, user_id=USER, tools=["other_tool"], embedded=True, **aged(60))

    answer = ask(app, GOAL, explain=True)

    assert served(answer) == [fresh.id, other.id]
    assert [(left["episode_id"], left["reason"]) for left in answer["excluded"]] == [
        (str(stale.id), "same_procedure")
    ]


def test_a_fresh_success_does_not_hide_behind_twenty_stale_neighbours(app: App) -> None:
    for _ in range(20):
        inject_similarity(make_episode(app, user_id=USER, embedded=True, **aged(150)), GOAL, 0.95)
    fresh = make_episode(app, user_id=USER, tools=["other"], embedded=True, **aged(1))
    inject_similarity(fresh, GOAL, 0.80)

    assert served(ask(app, GOAL))[0] == fresh.id


def test_a_corrected_outcome_changes_the_order_of_the_next_search(app: App) -> None:
    first = make_episode(app, user_id=USER, tools=["a"], embedded=True, **aged(10))
    second = make_episode(app, user_id=USER, tools=["b"], outcome=None, embedded=True, **aged(10))
    before = served(ask(app, GOAL))

    lifecycle.state_outcome(
        episode=first, statement=Statement("abandoned", "reviewer"), actor=SYSTEM
    )
    lifecycle.state_outcome(
        episode=second, statement=Statement("success", "reviewer"), actor=SYSTEM
    )

    assert (before, served(ask(app, GOAL))) == ([first.id, second.id], [second.id, first.id])


def test_nothing_declared_and_nothing_named_cannot_be_compared(app: App) -> None:
    make_episode(app, user_id=USER, toolset_version="v7", embedded=True)

    unnamed, named = ask(app, GOAL), ask(app, GOAL, toolset_version="v8")

    assert unnamed["memories"][0]["toolset"] == "unknown"
    assert named["memories"][0]["toolset"] == "other"


def test_a_toolset_declared_for_any_agent_is_current_for_each(app: App) -> None:
    declare_toolset(app=app, tools=[Tool(name="refund")], actor=ACTOR, version="v1")
    make_episode(app, user_id=USER, toolset_version="v1", embedded=True)

    assert ask(app, GOAL, agent_id="billing")["memories"][0]["toolset"] == "current"


def test_the_log_keeps_the_constants_that_held(app: App) -> None:
    ask(app, GOAL)

    recall = Recall.objects.get(app=app)
    profile = caller_of(app).profile
    assert (recall.minimum, recall.text_minimum, recall.failure_threshold, recall.window) == (
        profile.minimum,
        profile.text_minimum,
        profile.failure_threshold,
        profile.window,
    )


@pytest.mark.parametrize("scope", ["user", "org", "both"])
def test_a_word_that_postgresql_sees_nothing_in_breaks_no_search(app: App, scope: str) -> None:
    """To Python the Bengali numerator four is a word, to PostgreSQL's parser it is none."""
    own = make_episode(app, embedded=True)
    shared = share(app)
    given = {"user": own.id, "org": shared.id, "both": own.id}[scope]

    answers = [ask(app, f"{GOAL} \u09f7\u09f7", scope=scope), ask(app, "\u09f7\u09f7", scope=scope)]

    assert [served(answer)[:1] for answer in answers] == [[given], []]


def test_a_short_decay_and_a_great_age_underflow_nothing(app: App) -> None:
    profile = RankingProfile.objects.create(app=app, version=2, decay_days=1.0)
    App.objects.filter(id=app.id).update(profile=profile, retention_days=36_500)
    make_episode(app, user_id=USER, embedded=True, **aged(3650))

    assert len(ask(app, GOAL)["memories"]) == 1


def test_what_ends_ahead_of_the_clock_counts_as_fresh_and_no_more(app: App) -> None:
    """Or a year ahead would be worth 57 times as much as today."""
    ahead = make_episode(app, user_id=USER, embedded=True)

    with clock.at(clock.now() - timedelta(days=60)):
        [memory] = ask(app, GOAL, explain=True)["memories"]

    assert (memory["episode_id"], memory["factors"]["age_days"]) == (ahead.id, 0.0)
    assert memory["factors"]["decay"] == 1.0


def test_what_points_the_other_way_is_not_near_and_never_less(app: App) -> None:
    profile = RankingProfile.objects.create(app=app, version=2, minimum=0.0, text_minimum=0.0)
    App.objects.filter(id=app.id).update(profile=profile)
    away = make_episode(app, user_id=USER, session=_with_error("QUOTA_EXCEEDED"), embedded=True)
    queries = ("QUOTA_EXCEEDED", QUERY)

    found = []
    for query in queries:
        inject_similarity(away, query, -0.2)
        found.append(ask(app, query)["memories"])

    assert [[one["similarity"] for one in memories] for memories in found] == [[0.0], []]
    assert RecallHit.objects.get(app=app).similarity == 0.0


def test_the_control_arm_gets_nothing_and_the_log_says_what_it_would_have_got(app: App) -> None:
    App.objects.filter(id=app.id).update(control_share=1.0)
    episode = make_episode(app, user_id=USER, embedded=True)

    answer = ask(app, GOAL, session_id="held-out")
    without_session = ask(app, GOAL)

    assert (answer["arm"], answer["memories"], answer["context"]) == ("control", [], "")
    hit = RecallHit.objects.get(app=app, recall_id=answer["recall_id"])
    assert (hit.episode_id, hit.served) == (episode.id, False)
    assert without_session["arm"] is None


def test_personal_data_and_the_subject_stand_in_no_logged_query(app: App) -> None:
    ask(app, f"Refund maria@example.com, card 4111 1111 1111 1111, for {USER} please")

    [(query, tokens)] = Recall.objects.filter(app=app).values_list("query", "query_tokens")
    assert all(secret not in query + " ".join(tokens) for secret in ("maria", "4111", USER))
