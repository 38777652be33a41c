"""What the demo shows. It is loaded once; no test here changes anything."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from datetime import timedelta

import pytest
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.db.models import F
from django.test import RequestFactory

from episodes.enums import BlockKind, Outcome, OutcomeSource, Role, State
from episodes.models import (
    Block,
    Episode,
    EpisodeRevision,
    Feedback,
    Member,
    OutcomeEntry,
    Recall,
    Toolset,
)
from memoryadmin.demo import special
from memoryadmin.demo.load import load_demo
from memoryadmin.demo.marker import is_demo, tell_pages
from memoryadmin.demo.people import COLLEAGUES
from memoryadmin.demo.welcome import welcome
from tests.memoryadmin.demo.world import APPS, BILLING, NOW, PIPELINES, RUNBOOKS, World, rows

# pytest-django makes a database for tests that say so; `demo` is around each of them
pytestmark = pytest.mark.django_db


def test_a_few_hundred_sessions_of_three_apps_over_120_days(demo: World) -> None:
    sessions = Counter(
        Episode.objects.filter(scope="user", received_at__gt=NOW - timedelta(days=121)).values_list(
            "app__name", flat=True
        )
    )

    assert sessions == {BILLING: 155, RUNBOOKS: 101, PIPELINES: 88}
    for name in APPS:
        of_app = Episode.objects.filter(app__name=name)
        weeks = {(NOW - at).days // 7 for at in of_app.values_list("received_at", flat=True)}
        assert set(range(17)) <= weeks
        assert 18 < of_app.values("user_id").distinct().count() < 40


def test_nothing_happens_after_now_and_nothing_waits(demo: World) -> None:
    assert not Episode.objects.filter(received_at__gt=NOW).exists()
    assert rows("SELECT max(at) <= %s FROM episodes_auditentry", NOW) == [(True,)]
    assert rows("SELECT max(recalled_at) <= %s FROM episodes_recall", NOW) == [(True,)]
    assert rows("SELECT count(*) FROM episodes_pendingembedding") == [(0,)]


def test_billing_keeps_office_hours_and_pipelines_break_at_night(demo: World) -> None:
    def share(app: str, first: int, last: int) -> float:
        times = Recall.objects.filter(app_id=demo.app(app).id).values_list("recalled_at", flat=True)
        return sum(first <= at.hour < last for at in times) / len(times)

    days = Counter(
        at.weekday() >= 5
        for at in Recall.objects.filter(app_id=demo.app(BILLING).id).values_list(
            "recalled_at", flat=True
        )
    )

    assert share(BILLING, 8, 18) > 0.8
    assert share(PIPELINES, 2, 9) > 0.6
    assert share(RUNBOOKS, 18, 24) + share(RUNBOOKS, 0, 8) > 0.3
    assert days[True] < 0.15 * days[False]


def test_every_outcome_source_and_format_is_there(demo: World) -> None:
    assert set(Episode.objects.values_list("outcome", flat=True)) == set(Outcome.values)
    assert set(OutcomeEntry.objects.values_list("source", flat=True)) == {
        OutcomeSource.RESOLUTION,
        OutcomeSource.REVIEWER,
        OutcomeSource.TOOL,
        OutcomeSource.AGENT_CLAIM,
    }
    assert set(EpisodeRevision.objects.values_list("format", flat=True)) == {
        "adk",
        "episode",
        "messages",
        "promotion",
    }
    assert set(EpisodeRevision.objects.values_list("lesson_source", flat=True)) == {
        "caller",
        "template",
    }


def test_agents_do_better_with_precedent(demo: World) -> None:
    answered = {
        (session, app)
        for session, app, hits in Recall.objects.values_list("session_id", "app_id", "n_hits")
        if hits
    }
    for name in APPS:
        app, truths = demo.app(name), demo.played.desks[name].truths
        done: dict[bool, list[bool]] = {True: [], False: []}
        for (_, session), truth in truths.items():
            done[(session, app.id) in answered].append(truth == "success")
        shares = {given: sum(of) / len(of) for given, of in done.items()}
        assert len(done[True]) > 20, name
        assert shares[True] > shares[False] + 0.15, (name, shares)


def test_plans_rest_on_what_was_recalled(demo: World) -> None:
    bases = Counter(basis for desk in demo.played.desks.values() for basis in desk.bases)

    assert {"success", "warning", "nothing"} <= set(bases)
    assert bases["success"] > 40


def test_feedback_comes_before_with_and_after_the_session(demo: World) -> None:
    lags = [
        heard - written
        for heard, written in rows(
            "SELECT f.received_at, e.received_at FROM episodes_feedback f JOIN episodes_episode e"
            " USING (app_id, user_id, session_id)"
        )
    ]
    unmatched = Feedback.objects.count() - len(lags)

    assert len(lags) > 80
    assert sum(lag < timedelta() for lag in lags) > 5
    assert sum(timedelta() <= lag < timedelta(minutes=3) for lag in lags) > 10
    assert sum(lag > timedelta(days=1) for lag in lags) > 10
    assert unmatched == 2
    assert set(Feedback.objects.values_list("rating", flat=True)) == {
        "positive",
        "negative",
        "neutral",
    }


def test_tools_say_later_how_it_ended(demo: World) -> None:
    late = OutcomeEntry.objects.filter(
        source=OutcomeSource.TOOL, at__gt=F("episode__completed_at") + timedelta(minutes=15)
    )
    weeks = late.filter(at__gt=F("episode__completed_at") + timedelta(days=14))

    assert late.count() > 25
    assert weeks.count() > 3


def test_reviewers_took_what_was_on_top_and_left_the_rest(demo: World) -> None:
    reviewed = OutcomeEntry.objects.filter(
        source=OutcomeSource.REVIEWER, retracts=None, episode__scope="user"
    )
    unsettled = Episode.objects.filter(state=State.COMPLETED).exclude(
        outcome_source__in=[OutcomeSource.RESOLUTION, OutcomeSource.REVIEWER, OutcomeSource.TOOL]
    )

    assert set(reviewed.values_list("stated_by", flat=True)) == {"ines.fabre", "marek.dvorak"}
    assert all(reviewed.values_list("reason", flat=True))
    assert reviewed.exclude(evidence={}).count() > 10
    assert {app: unsettled.filter(app__name=app).count() > 8 for app in APPS} == dict.fromkeys(
        APPS, True
    )


def test_people_work_when_people_work(demo: World) -> None:
    decided = OutcomeEntry.objects.filter(
        source__in=[OutcomeSource.REVIEWER, OutcomeSource.RESOLUTION]
    ).values_list("at", flat=True)
    blocks = Block.objects.exclude(opened_by="system").values_list("opened_at", "closed_at")
    moments = [*decided, *(at for block in blocks for at in block if at)]

    assert len(moments) > 60
    assert [at for at in moments if at.weekday() >= 5 or not 8 <= at.hour < 18] == []


def test_the_console_has_one_of_each_rare_thing(demo: World) -> None:
    assert OutcomeEntry.objects.filter(retracts__isnull=False).count() == 1
    assert OutcomeEntry.objects.filter(source=OutcomeSource.RESOLUTION).count() == 1
    assert Episode.objects.filter(review_state="changed_after_review").count() == 1
    assert Episode.objects.filter(contradicted=True).count() == 1
    assert EpisodeRevision.objects.filter(outcome_reason="multiple_outcomes").count() == 2
    assert Episode.objects.filter(state=State.OPEN).count() == 2
    assert EpisodeRevision.objects.filter(errors__contains=["no_result"]).count() > 1
    assert len(demo.served(special.LONG).steps) == 106
    assert rows("SELECT count(*) FROM episodes_apikey WHERE revoked_at IS NOT NULL") == [(3,)]
    assert {str(app.profile) for app in map(demo.app, APPS)} == {"default@1", "default@2"}


def test_held_text_waits_and_was_lifted_once(demo: World) -> None:
    held = Block.objects.filter(kind=BlockKind.HELD)
    quarantined = Block.objects.filter(kind=BlockKind.QUARANTINE)

    assert sorted(held.filter(closed_at=None).values_list("reason", flat=True)) == [
        "addressed_to_model",
        "memory_directive",
        "override_instructions",
        "override_instructions",
    ]
    assert list(held.exclude(closed_at=None).values_list("closed_by", flat=True)) == ["ruth.okafor"]
    assert sorted(quarantined.values_list("reason", "closed_by")) == [
        ("broken_procedure", "ruth.okafor"),
        ("stale_procedure", ""),
    ]


def test_sessions_without_goal_or_procedure_are_no_episodes(demo: World) -> None:
    ignored = {"chat-0d3f5b81", "chat-ae6612c9", "run-4f7d0b22"}

    assert not Episode.objects.filter(session_id__in=ignored).exists()


def test_two_toolsets_are_retired_and_the_others_in_use(demo: World) -> None:
    declared = Counter((each.hash_kind, each.retired_at is None) for each in Toolset.objects.all())

    assert declared == {
        ("opaque", False): 1,
        ("opaque", True): 1,
        ("schemas", False): 1,
        ("schemas", True): 1,
        ("names", True): 1,
    }
    current = Toolset.objects.filter(retired_at=None)
    assert current.filter(last_used_at__gt=NOW - timedelta(days=7)).count() == current.count()


def test_checkpoints_that_come_late_change_nothing(demo: World) -> None:
    head = demo.episode(special.LATE_CHECKPOINT)
    served = demo.served(special.LATE_CHECKPOINT)

    assert (head.n_revisions, head.revision, head.state) == (3, 3, State.COMPLETED)
    assert served.tools[-1] == "drain_node"
    assert Episode.objects.filter(n_revisions__gt=1).count() > 8


def test_each_role_has_a_sign_in_and_colleagues_have_none(demo: World) -> None:
    assert is_demo()
    assert authenticate(username="reviewer", password=demo.access.password) is not None
    reviewer = User.objects.get(username="reviewer")
    for role in Role.values:
        user = User.objects.get(username=role)
        assert user.password == reviewer.password
        assert set(Member.objects.filter(user=user).values_list("app__name", "role")) == {
            (app, role) for app in APPS
        }
    colleagues = User.objects.filter(username__in=COLLEAGUES)
    assert [user.has_usable_password() for user in colleagues] == [False] * 3
    assert User.objects.count() == 8
    assert not User.objects.filter(is_superuser=True).exists()


def test_what_is_printed_gets_one_in(demo: World) -> None:
    said = welcome(demo.access, address="http://127.0.0.1:8000")
    command = shlex.split(said[said.index("curl") :])
    body = json.loads(command[command.index("-d") + 1])

    assert said.count(demo.access.password) == 5
    assert f"Authorization: Bearer {demo.access.key}" in command
    assert body["user_id"] == "acct_larkspur"


def test_pages_can_say_that_it_is_a_demo(demo: World) -> None:
    assert bool(tell_pages(RequestFactory().get("/"))["is_demo"])


def test_a_second_load_changes_nothing(demo: World) -> None:
    tables = [name for (name,) in rows("SELECT tablename FROM pg_tables WHERE schemaname='public'")]

    def census() -> dict[str, int]:
        return {name: rows(f"SELECT count(*) FROM {name}")[0][0] for name in tables}  # noqa: S608

    before = census()
    again = load_demo(now=NOW, keep=lambda access: None)

    assert again is None
    assert census() == before
