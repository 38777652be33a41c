"""Sessions of several subjects who had the same done, and the people who promote one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from curation.models import Consolidation, ConsolidationSource, Precedent
from curation.promotion import approve_precedent, propose_precedent
from curation.review.deciding import Seen, correct_outcome
from episodes.audit import Actor
from episodes.embedding.pipeline import embed_due
from episodes.enums import ActorKind
from episodes.models import App, Episode
from tests.factories import make_episode

ANNA = Actor(name="anna", kind=ActorKind.MEMBER, role="curator")
BEN = Actor(name="ben", kind=ActorKind.MEMBER, role="curator")
CARA = Actor(name="cara", kind=ActorKind.MEMBER, role="curator")

TOOLS = ("get_charge", "refund")
GOALS = (
    "Refund the duplicate charge on my last invoice, please.",
    "Please refund the duplicate charge on the last invoice.",
    "The last invoice has a duplicate charge, refund it please.",
    "Refund this duplicate charge on our last invoice please.",
)
SUBJECT = "maria.quillfeather@example.com"


def review(episode: Episode, outcome: str = "success", *, settles: bool = False) -> Episode:
    episode.refresh_from_db()
    correct_outcome(
        episode=episode,
        outcome=outcome,
        reason="Read the trace.",
        seen=Seen.of(episode),
        actor=CARA,
        settles=settles,
    )
    episode.refresh_from_db()
    return episode


def make_peers(app: App, n: int, *, tools: Sequence[str] = TOOLS) -> list[Episode]:
    """Write the same procedure for a similar goal by `n` other subjects."""
    made = [
        make_episode(app, goal=GOALS[at % len(GOALS)], tools=tools, user_id=f"peer-{at}")
        for at in range(n)
    ]
    embed_due(app=app)
    return made


def make_source(app: App, *, peers: int = 2, outcome: str = "success", **members: Any) -> Episode:
    """Write a reviewed episode of SUBJECT, and those of others who did the same."""
    make_peers(app, peers, tools=members.get("tools", TOOLS))
    members = {"goal": GOALS[0], "tools": TOOLS, "user_id": SUBJECT} | members
    return review(make_episode(app, embedded=True, **members), outcome)


def make_proposal(app: App, **members: Any) -> Precedent:
    return propose_precedent(
        episode=make_source(app, **members),
        actor=ANNA,
        as_warning=members.get("outcome") == "failure",
    )


def make_published(app: App, **members: Any) -> Precedent:
    proposal = make_proposal(app, **members)
    return approve_precedent(precedent=proposal, actor=BEN, seen=proposal.version)


def make_lesson(
    app: App, *, lesson: str = "What all did.", sources: Sequence[Episode] = ()
) -> Consolidation:
    """Leave what the nightly task would leave."""
    made = Consolidation.objects.create(
        app=app, procedure_key="p", lesson=lesson, n_sources=3, n_subjects=3, threshold=3
    )
    for at, episode in enumerate(sources):
        ConsolidationSource.objects.create(
            app=app,
            consolidation=made,
            episode_id=episode.id,
            revision=episode.revision,
            user_id=episode.user_id or "",
            is_lead=at == 0,
        )
    return made


def source_of(precedent: Precedent) -> Episode:
    assert precedent.source_episode_id is not None
    return Episode.objects.get(app_id=precedent.app_id, id=precedent.source_episode_id)


def org_episode(precedent: Precedent) -> Episode:
    assert precedent.org_episode_id is not None
    return Episode.objects.get(app_id=precedent.app_id, id=precedent.org_episode_id)
