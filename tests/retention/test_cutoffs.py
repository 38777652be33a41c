"""When an episode's time is up, to the second, and that every read goes by it at once."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import product
from typing import Any

import pytest
from django.db import connection

from curation.reading.candidates import list_candidates
from curation.review.queue import read_queue
from episodes import lifecycle
from episodes.enums import Outcome, ReviewState, Scope
from episodes.lifecycle import Statement
from episodes.models import App, Episode, Member, Recall
from episodes.past.as_of import search_as_of
from episodes.reach import read_reach
from episodes.retention.expiry import (
    UNEXPIRED,
    Cutoffs,
    Kind,
    Retention,
    Rule,
    read_rules,
    write_rules,
)
from episodes.retention.policies import Policy, Wanted, set_retention
from episodes.trace import read_trace
from memoryadmin.lib import clock
from tests.episodes.asking import aged, ask, served
from tests.episodes.recall_log import log_recall
from tests.episodes.sharing import share
from tests.factories import ACTOR, make_app, make_episode

pytestmark = pytest.mark.django_db


@pytest.fixture
def app() -> App:
    return make_app()


def keep(app: App, *policies: Policy, days: int = 180) -> App:
    """Put policies in force, as an admin does."""
    app.refresh_from_db()
    wanted = Wanted(days=days, policies=policies)
    return set_retention(app=app, wanted=wanted, seen=app.retention_version, actor=ACTOR)


FAILURES = Policy("Failures", Kind(outcome="failure"), age_days=30)


def test_an_episode_expires_to_the_second(app: App) -> None:
    episode = make_episode(app)
    assert episode.completed_at is not None
    end = episode.completed_at + timedelta(days=180)

    def is_there() -> bool:
        return Episode.objects.unexpired(app.cutoffs).filter(id=episode.id).exists()

    with clock.at(end - timedelta(seconds=1)):
        assert is_there()
        assert not app.cutoffs.has_expired(episode)
    with clock.at(end):
        assert not is_there()
        assert app.cutoffs.has_expired(episode)


RULES = (
    Rule(Kind(outcome="failure", review_state="unreviewed"), 30),
    Rule(Kind(outcome="failure"), 300),
    Rule(Kind(scope="org"), 400),
    Rule(Kind(promoted=True)),
    Rule(Kind(review_state="reviewed"), 90),
)


@pytest.mark.parametrize("rules", [(), RULES, RULES[::-1], (Rule(Kind(), 20), *RULES)])
def test_python_orm_and_sql_say_the_same_of_every_kind(app: App, rules: tuple[Rule, ...]) -> None:
    cutoffs = Retention(180, rules).at(clock.now())
    edges = sorted({cutoffs.default, *cutoffs.each})
    second = timedelta(seconds=1)
    times = [edge + by for edge in edges for by in (-second, timedelta(0), second)]
    Episode.objects.bulk_create(
        Episode(
            app=app,
            scope=scope,
            **({"user_id": "u", "session_id": f"s-{n}"} if scope == Scope.USER else {}),
            outcome=outcome,
            review_state=review_state,
            promoted=promoted,
            state="completed",
            completed_at=at,
            revision=1,
            n_revisions=1,
        )
        for n, (scope, outcome, review_state, promoted, at) in enumerate(
            product(Scope, Outcome, ReviewState, (False, True), times)
        )
    )
    heads = Episode.objects.filter(app=app)

    by_python = {head.id for head in heads if not cutoffs.has_expired(head)}
    by_orm = set(heads.unexpired(cutoffs).values_list("id", flat=True))
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT h.id FROM episodes_episode h WHERE h.app_id = %(app)s AND {UNEXPIRED}",  # noqa: S608
            {"app": app.id, **cutoffs.parameters()},
        )
        by_sql = {row[0] for row in cursor.fetchall()}

    assert by_python == by_orm == by_sql
    assert 0 < len(by_python) < heads.count()
    heads.delete()  # a head without evidence is refused at the commit


def test_the_first_policy_that_fits_decides(app: App) -> None:
    old = make_episode(app, outcome="failure", **aged(40))
    kept = make_episode(app, outcome="success", **aged(40))
    longer = Policy("All", age_days=365)

    keep(app, FAILURES, longer)
    assert [one.id for one in Episode.objects.unexpired(app_of(app).cutoffs)] == [kept.id]

    keep(app, longer, FAILURES)
    assert {one.id for one in Episode.objects.unexpired(app_of(app).cutoffs)} == {old.id, kept.id}


def app_of(app: App) -> App:
    return App.objects.get(pk=app.pk)


def test_a_policy_can_keep_longer_than_the_default(app: App) -> None:
    with clock.at(clock.now() - timedelta(days=200)):
        made = make_episode(app, embedded=True)
    assert served(ask(app)) == []

    keep(app, Policy("Successes", Kind(outcome="success"), age_days=365))

    assert served(ask(app)) == [made.id]


def test_rules_are_the_same_after_they_were_stored() -> None:
    assert read_rules(write_rules(RULES)) == RULES


def test_a_shortened_policy_hides_at_once_in_both_scopes(app: App) -> None:
    own = make_episode(app, embedded=True, tools=["a"], **aged(40))
    shared = share(app, completed_at=clock.now() - timedelta(days=40), tools=["b"])
    younger = make_episode(app, embedded=True, tools=["c"], **aged(20))
    before = set(served(ask(app, scope="user"))) | set(served(ask(app, scope="org")))
    assert before == {own.id, younger.id, shared.id}

    keep(app, Policy("Successes", Kind(outcome="success"), age_days=30))

    assert served(ask(app, scope="user")) == [younger.id]
    assert served(ask(app, scope="org")) == []
    assert ask(app, scope="user", dry_run=True)["candidates"] == 1


def test_the_scope_is_a_condition(app: App) -> None:
    own = make_episode(app, embedded=True, **aged(40))
    share(app, completed_at=clock.now() - timedelta(days=40))

    keep(app, Policy("Shared", Kind(scope="org"), age_days=30))

    assert served(ask(app, scope="user")) == [own.id]
    assert served(ask(app, scope="org")) == []


def test_an_episode_moves_between_policies_with_what_is_said_of_it(app: App) -> None:
    episode = make_episode(app, outcome="success", embedded=True, **aged(40))
    keep(app, FAILURES)
    assert served(ask(app)) == [episode.id]

    statement = Statement(outcome="failure", source="reviewer")
    lifecycle.state_outcome(episode=episode, statement=statement, actor=ACTOR)

    assert served(ask(app, include_failures=True)) == []


def test_a_shortened_policy_hides_at_once_from_queue_lists_trace_and_reach(app: App) -> None:
    unknown = make_episode(app, outcome=None, **aged(40))
    child = make_episode(app, session_id="child", outcome=None, **aged(1))
    log_recall(app, unknown, session_id="child", at=clock.now() - timedelta(days=2))
    member = Member(app=app, role="compliance")

    def seen() -> list[Any]:
        member.app = app_of(app)
        return [
            read_queue(member=member).total,
            Episode.objects.visible_to(member).count(),
            read_trace(app_id=app.id, episode_id=unknown.id, cutoffs=member.app.cutoffs)
            is not None,
            read_reach(app_id=app.id, roots=[unknown.id]).nodes[0].exists,
        ]

    assert seen() == [2, 2, True, True]

    keep(app, Policy("Unknown", Kind(outcome="unknown"), age_days=30))

    assert seen() == [1, 1, False, False]
    assert Episode.objects.filter(id=child.id).exists()


def test_a_shortened_policy_hides_at_once_from_the_candidates_of_promotion(app: App) -> None:
    episode = make_episode(app, embedded=True, **aged(40))
    statement = Statement(outcome="success", source="reviewer")
    lifecycle.state_outcome(episode=episode, statement=statement, actor=ACTOR)
    member = Member(app=app, role="curator")
    assert [one.id for one in list_candidates(member=member)] == [episode.id]

    keep(app, Policy("Reviewed", Kind(review_state="reviewed"), age_days=30))

    member.app = app_of(app)
    assert list_candidates(member=member) == []


def test_a_recall_logs_the_retention_that_it_went_by(app: App) -> None:
    make_episode(app, embedded=True)
    keep(app, FAILURES, days=100)

    ask(app)

    recall = Recall.objects.get(app_id=app.id)
    assert recall.retention == [{"outcome": "failure", "age_days": 30}]
    assert recall.recalled_at - recall.cutoff == timedelta(days=100)


def test_as_of_a_date_goes_by_the_retention_of_the_recall(app: App) -> None:
    now = clock.now()
    with clock.at(now - timedelta(days=41)):
        failed = make_episode(app, outcome="failure", embedded=True, tools=["a"])
        kept = make_episode(app, outcome="success", embedded=True, tools=["b"])
    keep(app, FAILURES)
    ask(app, include_failures=True)
    recall = Recall.objects.get(app_id=app.id)
    keep(app)

    def stood(days_ago: float) -> set[Any]:
        moment = recall.recalled_at - timedelta(days=days_ago)
        found = search_as_of(app=app_of(app), recall=recall, moment=moment)
        return {one.id for one in [*found.returned, *found.left]}

    assert stood(0) == {kept.id}
    assert stood(20) == {failed.id, kept.id}


def test_as_of_a_date_shows_nothing_that_has_expired_by_now(app: App) -> None:
    failed = make_episode(app, outcome="failure", embedded=True, tools=["a"], **aged(40))
    kept = make_episode(app, outcome="success", embedded=True, tools=["b"], **aged(40))
    ask(app, include_failures=True)
    recall = Recall.objects.get(app_id=app.id)

    def shown() -> set[Any]:
        found = search_as_of(app=app_of(app), recall=recall, moment=recall.recalled_at)
        return {one.id for one in [*found.returned, *found.left]}

    assert shown() == {failed.id, kept.id}
    keep(app, FAILURES)
    assert shown() == {kept.id}


class Counted(Cutoffs):
    """Counts how often it is asked for the cut-off of one kind."""

    asked = 0

    def of(self, *kind: str, promoted: bool) -> datetime:
        Counted.asked += 1
        return super().of(*kind, promoted=promoted)


def test_where_one_age_holds_for_all_a_search_pays_for_no_kind() -> None:
    Counted.asked = 0
    now = clock.now()
    same = now - timedelta(days=30)

    plain = Counted(same).parameters()
    alike = Counted(same, (Kind(outcome="failure"),), (same,)).parameters()

    assert plain == alike
    assert plain == {"cutoff": same, "kept_since": same, "kept_kinds": [], "kept_cutoffs": []}
    assert Counted.asked == 0
    differing = Counted(now, (Kind(outcome="failure"),), (same,)).parameters()
    assert len(differing["kept_kinds"]) == Counted.asked * 5 // 6  # five of six outcomes
