"""Generated sets, through the statement and through the plain arithmetic of episodes/ranking.py."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import psycopg
import pytest
from django.db import connection
from psycopg.types.numeric import Int8

from episodes import search
from episodes.embedding.generations import current_generation
from episodes.models import App, Episode, RankingProfile, Recall, RecallHit
from episodes.query import read_query
from episodes.ranking import Candidate, choose, score
from episodes.recall import Filters, SearchRequest, parameters
from episodes.search.execute import PLANNED_LOCK, first_look
from episodes.search.org_index import ensure_org_index, index_name
from episodes.search.sources import Index
from episodes.wire import adapt, numbered
from memoryadmin.lib import clock
from tests.episodes.asking import QUERY, USER, ask, caller_of, served
from tests.episodes.sharing import Made, make_many
from tests.factories import make_app

pytestmark = pytest.mark.django_db

CODES = ("e_quota", "e_approval", "e_closed")
OUTCOMES = ("success", "success", "success", "partial", "failure", "escalated", "unknown")
SOURCES = ("reviewer", "tool", "agent_claim", None)


@pytest.fixture
def app() -> App:
    made = make_app()
    profile = RankingProfile.objects.create(
        app=made, version=2, minimum=0.3, max_results=10, window=200
    )
    App.objects.filter(id=made.id).update(profile=profile, retention_days=3650)
    made.refresh_from_db()
    return made


@pytest.fixture
def near(monkeypatch: pytest.MonkeyPatch) -> None:
    """Much is shared: more than is compared one by one, and than a first look takes."""
    for name, value in {
        "ALL_SHARED": 20,
        "FIRST_REACH": 16,
        "FIRST_RECENT": 8,
        "SECOND_REACH": 60,
        "TEXT_REACH": 50,
    }.items():
        monkeypatch.setattr(f"episodes.search.execute.{name}", value)


def seeded(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311


def drawn(pick: random.Random, *, n: int, codes: bool = False, user: bool = False) -> list[Made]:
    return [
        Made(
            similarity=round(pick.uniform(-0.2, 1.0), 6),
            outcome=pick.choice(OUTCOMES),
            source=pick.choice(SOURCES),
            toolset="" if pick.random() < 0.5 else pick.choice(("v1", "v2")),
            age_days=pick.expovariate(1 / 60),
            procedure=f"procedure-{pick.randrange(40)}",
            codes=tuple(pick.sample(CODES, pick.randrange(3))) if codes else (),
            user_id=USER if user else None,
        )
        for _ in range(n)
    ]


def expected(app: App, rows: Sequence[Made], heads: Sequence[Episode], query: str) -> list[Any]:
    found = choose(caller_of(app).profile, candidates(rows, heads, query), limit=10)
    return [one.id for one, _ in found]


def weighed(
    app: App, rows: Sequence[Made], heads: Sequence[Episode], query: str
) -> list[tuple[Candidate, float]]:
    """Return every candidate with its score, best first."""
    profile = caller_of(app).profile
    scored = [
        (
            one,
            score(
                profile,
                similarity=one.similarity,
                text=one.text,
                outcome=one.outcome,
                outcome_source=one.outcome_source,
                toolset=one.toolset,
                age_days=one.age_days,
            ).score,
        )
        for one in candidates(rows, heads, query)
    ]
    return sorted(scored, key=lambda pair: pair[1], reverse=True)


def candidates(rows: Sequence[Made], heads: Sequence[Episode], query: str) -> list[Candidate]:
    asked = [code for code in CODES if code in query.lower()]
    return [
        Candidate(
            id=head.id,
            similarity=max(row.similarity, 0.0),
            text=0.9 * len(set(row.codes) & set(asked)) / len(asked) if asked else 0.0,
            outcome=row.outcome,
            outcome_source=row.source,
            recorded_outcome=row.outcome,
            toolset="unknown",
            age_days=(clock.now() - head.completed_at).total_seconds() / 86_400,
            completed_at=head.completed_at,
            procedure_key=row.procedure,
        )
        for row, head in zip(rows, heads, strict=True)
        if head.completed_at is not None
    ]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("codes", [False, True])
def test_all_that_is_shared_is_ranked_as_the_rule_says(app: App, seed: int, codes: bool) -> None:
    query = " ".join([QUERY, *map(str.upper, CODES)]) if codes else QUERY
    pick = seeded(seed)
    rows = [*drawn(pick, n=150, codes=codes), *drawn(pick, n=60, codes=codes, user=True)]
    heads = make_many(app, query, rows)

    answer = ask(app, query)

    assert (served(answer), answer["recall_mode"]) == (expected(app, rows, heads, query), "exact")
    assert answer["candidates"] == 210


@pytest.mark.parametrize("seed", range(3))
def test_the_best_that_are_left_out_are_the_best_of_all(app: App, seed: int) -> None:
    """Although the text of most is never read."""
    query = " ".join([QUERY, *map(str.upper, CODES)])
    pick = seeded(seed)
    rows = drawn(pick, n=150, codes=True, user=True)
    heads = make_many(app, query, rows)

    answer = ask(app, query, scope="user", limit=2, explain=True)

    ranked = [one for one, _ in weighed(app, rows, heads, query) if one.id not in served(answer)]
    assert [left["episode_id"] for left in answer["excluded"]] == [
        str(one.id) for one in ranked[:10]
    ]


def test_ones_own_stands_for_its_copy_however_far_behind_it_is(app: App) -> None:
    others = [Made(0.9, "success", "reviewer", "", 1, f"other-{n}") for n in range(30)]
    copy = Made(0.95, "success", "reviewer", "", 1, "mine", wording_of=USER)
    own = Made(0.35, "success", "agent_claim", "", 300, "mine", user_id=USER)
    heads = make_many(app, QUERY, [*others, copy, own])

    answer = ask(app, QUERY, explain=True)

    assert heads[30].id not in served(answer)
    left = {left["episode_id"]: left["reason"] for left in answer["excluded"]}
    assert left[str(heads[30].id)] == "own_copy"


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("codes", [False, True])
def test_of_much_that_is_shared_the_same_best_are_found(
    app: App, near: None, seed: int, codes: bool
) -> None:
    query = " ".join([QUERY, *map(str.upper, CODES)]) if codes else QUERY
    pick = seeded(seed)
    rows = [*drawn(pick, n=300, codes=codes), *drawn(pick, n=60, codes=codes, user=True)]
    heads = make_many(app, query, rows)
    ensure_org_index(current_generation())

    answer = ask(app, query)

    assert (served(answer), answer["recall_mode"]) == (
        expected(app, rows, heads, query),
        "approximate",
    )
    assert answer["candidates"] < 360


def test_a_look_that_is_not_sure_scores_all_where_the_window_holds_it(app: App, near: None) -> None:
    """All but one are alike, and count once."""
    rows = [Made(0.8, "success", "reviewer", "", 5, "one")] * 150
    heads = make_many(app, QUERY, [*rows, Made(0.7, "success", "reviewer", "", 30, "other")])
    ensure_org_index(current_generation())

    answer = ask(app, QUERY, scope="org")

    assert len(served(answer)) == 2
    assert (served(answer)[1], answer["recall_mode"]) == (heads[-1].id, "exact")
    assert answer["candidates"] == 151


def test_search_is_right_without_the_index(app: App, near: None) -> None:
    rows = drawn(seeded(7), n=300)
    heads = make_many(app, QUERY, rows)

    assert served(ask(app, QUERY, scope="org")) == expected(app, rows, heads, QUERY)


def test_a_word_that_postgresql_sees_nothing_in_breaks_no_search(app: App, near: None) -> None:
    rows = drawn(seeded(7), n=60)
    make_many(app, QUERY, rows)

    plain, strange = (ask(app, f"{QUERY}{more}", scope="org") for more in ("", " \u09f7\u09f7"))

    assert (plain["candidates"] > 20, strange["candidates"] > 20) == (True, True)


def test_a_fresh_success_is_found_behind_any_number_of_stale_neighbours(
    app: App, near: None
) -> None:
    """Three times as many as even a second look takes are nearer."""
    stale = [Made(0.95, "success", "reviewer", "", 300, f"stale-{n}") for n in range(180)]
    between = [Made(0.2, "success", "reviewer", "", 1, f"between-{n}") for n in range(20)]
    fresh = Made(0.6, "success", "reviewer", "", 2, "fresh")
    heads = make_many(app, QUERY, [*stale, *between, fresh])
    ensure_org_index(current_generation())

    answer = ask(app, QUERY, scope="org", limit=1)

    assert served(answer) == [heads[-1].id]


def test_a_narrow_filter_gets_all_that_it_leaves(app: App, near: None) -> None:
    rows = [
        *(Made(0.9, "success", "reviewer", "", 5, f"common-{n}") for n in range(200)),
        *(Made(0.4, "partial", "reviewer", "", 5, f"rare-{n}") for n in range(5)),
    ]
    heads = make_many(app, QUERY, rows)
    ensure_org_index(current_generation())

    answer = ask(app, QUERY, scope="org", filters=Filters(outcome=("partial",)))

    assert set(served(answer)) == {head.id for head in heads[200:]}


def test_what_other_apps_share_is_neither_served_nor_in_the_way(app: App, near: None) -> None:
    foreign = make_app()
    make_many(
        foreign, QUERY, [Made(0.99, "success", "tool", "", 1, f"foreign-{n}") for n in range(300)]
    )
    rows = [Made(0.5, "success", "tool", "", 1, f"own-{n}") for n in range(30)]
    heads = make_many(app, QUERY, rows)
    ensure_org_index(current_generation())

    answer = ask(app, QUERY, scope="org")

    assert len(served(answer)) == 10
    assert set(served(answer)) <= {head.id for head in heads}


def test_a_code_alone_finds_its_rows_among_many_without_a_vector(app: App, near: None) -> None:
    make_many(app, QUERY, [Made(0.9, "success", "tool", "", 1, f"p-{n}") for n in range(100)])
    old = [Made(0.0, "success", "tool", "", 800, f"old-{n}", ("quota_exceeded",)) for n in range(3)]
    heads = make_many(app, QUERY, old)
    App.objects.filter(id=app.id).update(generation=None)

    answer = ask(app, "QUOTA_EXCEEDED", scope="org")

    assert (set(served(answer)), answer["degraded"]) == ({head.id for head in heads}, True)


def test_a_common_code_finds_the_newest_that_have_it(app: App, near: None) -> None:
    rows = [
        Made(0.0, "success", "tool", "", 1 + n, f"p-{n}", ("quota_exceeded",)) for n in range(200)
    ]
    heads = make_many(app, "else", [*rows[::-1]])[::-1]

    answer = ask(app, "QUOTA_EXCEEDED", scope="org")

    assert served(answer) == [head.id for head in heads[:10]]


def test_the_answer_stays_the_same_whatever_plan_was_kept(app: App, near: None) -> None:
    """Prepared plans turn generic after a few runs; discarded ones are made anew."""
    rows = drawn(seeded(11), n=300)
    heads = make_many(app, QUERY, rows)
    ensure_org_index(current_generation())
    wanted = expected(app, rows, heads, QUERY)

    kept = [served(ask(app, QUERY, scope="org")) for _ in range(8)]
    with connection.cursor() as cursor:
        cursor.execute("DISCARD PLANS")
    fresh = served(ask(app, QUERY, scope="org"))

    assert [*kept, fresh] == [wanted] * 9


def test_what_is_logged_is_what_was_answered_once(app: App, near: None) -> None:
    stale = [Made(0.95, "success", "reviewer", "", 300, f"stale-{n}") for n in range(180)]
    make_many(app, QUERY, [*stale, Made(0.6, "success", "reviewer", "", 2, "fresh")])

    answer = ask(app, QUERY, scope="org")

    [recall] = Recall.objects.all()
    assert (recall.id, recall.mode, recall.n_hits) == (answer["recall_id"], "approximate", 10)
    logged = RecallHit.objects.order_by("rank").values_list("episode_id", flat=True)
    assert list(logged) == served(answer)


def test_the_nearest_come_by_way_of_the_index(app: App, near: None) -> None:
    make_many(app, QUERY, drawn(seeded(3), n=60))
    generation = current_generation()
    ensure_org_index(generation)

    plan = explain(app)

    assert f"Index Scan using {index_name(generation.pk)} on episodes_episodevector" in plan
    assert plan.count("Sort Key: ((v.vector)") == 0


def explain(app: App) -> str:
    """Return the plan of a first look, planned as search has it planned."""
    caller = caller_of(app)
    assert caller.generation is not None
    query = read_query(QUERY, user_id=USER, generation=caller.generation)
    asked = parameters(
        caller=caller,
        request=SearchRequest(user_id=USER, query=QUERY),
        query=query,
        arm=None,
        request_id="",
    )
    values = {**first_look(asked), "vector": query.vector, "shared_window": Int8(20)}
    index = Index(caller.generation.id, caller.generation.dimensions)
    sql = search.statement(vector=True, log=True, shared="near", index=index)
    text, names = numbered(f"EXPLAIN {sql}")
    own = connection.connection
    with psycopg.Cursor(own) as lock, psycopg.RawCursor(own) as cursor:
        adapt(cursor)
        with own.transaction():
            lock.execute(PLANNED_LOCK, values)
            rows = cursor.execute(text, [values[name] for name in names]).fetchall()
    return "\n".join(row[0] for row in rows)
