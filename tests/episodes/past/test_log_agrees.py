"""Whatever happened since: what is found at a search's own time is what its log says."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest

from episodes import lifecycle
from episodes.effective import REVIEW_SOURCES
from episodes.embedding.pipeline import embed_due
from episodes.lifecycle import Statement
from episodes.models import (
    App,
    Block,
    Episode,
    OutcomeEntry,
    RankingProfile,
    Recall,
)
from episodes.past.as_of import search_as_of
from episodes.recall import Filters
from episodes.toolset_hash import Tool
from episodes.toolsets import declare_toolset, retire_toolset
from memoryadmin.lib import clock
from tests.episodes.asking import USER, ask
from tests.episodes.past.moments import BEGAN, hour, logged, shown
from tests.factories import ACTOR, GOAL, make_steps, write

pytestmark = pytest.mark.django_db

FILTERS = (
    Filters(outcome=("success", "partial")),
    Filters(min_review="reviewed"),
    Filters(tool="b"),
    Filters(error="E_CODE"),
    Filters(issue_type="refund", tags=("vip",)),
    Filters(agent_id="a"),
    Filters(since=BEGAN + timedelta(hours=20), until=BEGAN + timedelta(hours=90)),
)


@pytest.mark.parametrize("seed", range(6))
def test_it_agrees_with_the_log_whatever_came_after(app: App, seed: int) -> None:
    drawn = random.Random(seed)  # noqa: S311  (no secret)
    profile = RankingProfile.objects.create(
        app=app, version=2, max_results=drawn.choice((2, 4)), window=drawn.choice((6, 20_000))
    )
    App.objects.filter(pk=app.pk).update(profile=profile)
    _live(app, drawn, hours=120)

    app.refresh_from_db()
    recalls = list(Recall.objects.filter(app=app).order_by("recalled_at"))
    with clock.at(hour(1_000)):
        found = [search_as_of(app=app, recall=one, moment=one.recalled_at) for one in recalls]

    assert len(recalls) > 20
    assert [shown(one) for one in found] == [logged(one) for one in recalls]
    assert [(one.candidates, one.gone) for one in found] == [(one.candidates, 0) for one in recalls]
    assert [one.is_cut for one in found] == [one.mode == "approximate" for one in recalls]
    assert sum(one.n_hits for one in recalls) > 10


def _live(app: App, drawn: random.Random, *, hours: int) -> None:
    """An act an hour: sessions written and written again, judged, blocked, lifted, searched for."""
    with clock.at(hour(-1)):
        declare_toolset(app=app, tools=[Tool(name="a")], actor=ACTOR, version="v0")
    for n in range(hours):
        with clock.at(hour(n)):
            drawn.choice((_write, _write, _correct, _block_or_lift, _redeclare, _search, _search))(
                app, drawn, n
            )
        if drawn.random() < 0.7:
            with clock.at(hour(n + 0.5)):
                embed_due(app=app)


def _write(app: App, drawn: random.Random, n: int) -> None:
    goals = (GOAL, "Refund invoice 8813 which was paid twice", "Close the account ACC-9")
    tools = drawn.choice((["a"], ["a", "b"], ["b", "c"]))
    steps = make_steps(tools, error=drawn.choice((None, None, "E_CODE")))
    write(
        app,
        user_id=USER,
        session_id=f"s-{drawn.randrange(12)}",
        final=drawn.random() < 0.7,
        may_verify=drawn.random() < 0.5,
        sequence=n + 1,
        outcome=drawn.choice(("success", "partial", "failure", "unknown", None)),
        completed_at=drawn.choice((None, hour(n - 3))),
        issue_type="refund",
        tags=drawn.choice(((), ("vip",), ("other",))),
        agent_id=drawn.choice(("", "a", "b")),
        toolset_version=f"v{drawn.randrange(3)}",
        session={"goal": drawn.choice(goals), "steps": steps},
    )


def _some_episode(app: App, drawn: random.Random) -> Episode | None:
    episodes = list(Episode.objects.filter(app=app, revision__gte=1).order_by("id"))
    return drawn.choice(episodes) if episodes else None


def _correct(app: App, drawn: random.Random, n: int) -> None:
    episode = _some_episode(app, drawn)
    if episode is None:
        return
    entries = OutcomeEntry.objects.filter(app=app, episode=episode, source__in=REVIEW_SOURCES)
    retracted = entries.filter(retracts__isnull=False).values("retracts")
    last = entries.filter(retracts__isnull=True).exclude(id__in=retracted).order_by("seq").last()
    if last is not None and drawn.random() < 0.4:
        lifecycle.retract_outcome(entry=last, actor=ACTOR)
        return
    lifecycle.state_outcome(
        episode=episode,
        statement=Statement(
            drawn.choice(("success", "failure", "escalated")),
            drawn.choice(("reviewer", "resolution", "user_feedback")),
        ),
        actor=ACTOR,
    )


def _block_or_lift(app: App, drawn: random.Random, n: int) -> None:
    standing = Block.objects.filter(app=app, closed_at=None).order_by("opened_at", "id").first()
    if standing is not None and drawn.random() < 0.6:
        lifecycle.lift_block(block=standing, actor=ACTOR)
        return
    episode = _some_episode(app, drawn)
    if episode is not None:
        revision = drawn.choice((None, episode.revision, episode.n_revisions))
        lifecycle.block_episode(episode=episode, kind="held", actor=ACTOR, revision=revision)


def _redeclare(app: App, drawn: random.Random, n: int) -> None:
    version = f"v{drawn.randrange(3)}"
    declare_toolset(app=app, tools=[Tool(name="a")], actor=ACTOR, version=version)
    if drawn.random() < 0.5:
        retire_toolset(app=app, version=version, actor=ACTOR)


def _search(app: App, drawn: random.Random, n: int) -> None:
    ask(
        app,
        drawn.choice((GOAL, "refund invoice 8813", "E_CODE", "close account ACC-9")),
        session_id=f"s-{drawn.randrange(12)}",
        toolset_version=drawn.choice(("", "v1")),
        include_failures=drawn.random() < 0.3,
        filters=drawn.choice((*FILTERS, *([Filters()] * 8))),
        limit=drawn.choice((None, 1)),
    )
