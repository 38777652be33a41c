"""Many alike at once, vouched for by nobody: how a store is filled with fake successes.

One subject's sessions from one key within minutes, all claimed to be successes, by one procedure or
towards nearly the same goal. What the app has long done, or what somebody with authority once called
a success of another subject, is no burst: a batch of ordinary work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import F

from episodes import lifecycle
from episodes.audit import SYSTEM
from episodes.enums import AUTHORITIES, BlockKind, Outcome, RecallState
from episodes.models import App, Block, Episode, EpisodeRevision
from episodes.tokens import text_words
from episodes.trust.contest import share_of_words
from episodes.trust.rules import BurstRules, TrustRules
from memoryadmin.lib import clock

BURST = "burst"
ESTABLISHED_AFTER = timedelta(days=1)
LOOKED_AT = 200  # of one subject, in the minutes of the rule


@dataclass(frozen=True, slots=True)
class Claim:
    """A session that says of itself, with nobody's authority, that it was a success."""

    user_id: str
    key_prefix: str
    goal: str
    procedure_key: str


@dataclass(frozen=True, slots=True)
class Burst:
    """`others`: the earlier ones, which may be recallable still."""

    others: Sequence[Episode]
    figures: dict[str, Any]


def find_burst(*, app: App, claim: Claim, own: Episode) -> Burst | None:
    """Return the burst that the claim belongs to, if with it there are enough."""
    rules = TrustRules.from_json(app.review_rules).burst
    if not rules.is_on:
        return None
    others = _alike(app, claim, own, rules)
    if len(others) + 1 < rules.count or _is_established(app, claim, rules):
        return None
    figures = {
        "alike": len(others) + 1,
        "minutes": rules.minutes,
        "same_procedure": 1 + sum(one.procedure_key == claim.procedure_key for one in others),
    }
    return Burst(others, figures)


def hold_others(burst: Burst) -> int:
    """Hold the earlier ones of a burst; return how many. The caller's transaction holds the newest.

    One that is being written at this moment is left to its writer, who finds the others: waiting
    for it could be waiting in a circle.
    """
    held = 0
    for one in burst.others:
        found = Episode.objects.select_for_update(no_key=True, skip_locked=True, of=("self",))
        with transaction.atomic():
            head = found.filter(app_id=one.app_id, id=one.id).first()
            if head is None or _was_held(head):
                continue
            lifecycle.block_episode(
                episode=head,
                kind=BlockKind.HELD,
                revision=head.revision,
                reason=BURST,
                figures=burst.figures,
                actor=SYSTEM,
            )
            held += 1
    return held


def _alike(app: App, claim: Claim, own: Episode, rules: BurstRules) -> list[Episode]:
    """Same procedure, or nearly the same goal; figures and codes in it do not tell two apart."""
    recent = (
        EpisodeRevision.objects.filter(
            app=app,
            user_id=claim.user_id,
            written_at__gt=clock.now() - timedelta(minutes=rules.minutes),
            key_prefix=claim.key_prefix,
            revision=F("episode__revision"),
            episode__outcome=Outcome.SUCCESS,
        )
        .exclude(episode=own)
        .exclude(episode__outcome_source__in=AUTHORITIES)
        .select_related("episode", "episode__app")
        .defer("steps")
        .order_by("-written_at")[:LOOKED_AT]
    )
    words = _plain_words(claim.goal)
    return [
        one.episode
        for one in recent
        if one.procedure_key == claim.procedure_key
        or share_of_words(_plain_words(one.goal), words) >= rules.alike
    ]


def _plain_words(goal: str) -> frozenset[str]:
    return frozenset(word for word in text_words(goal) if not any(map(str.isdigit, word)))


def _is_established(app: App, claim: Claim, rules: BurstRules) -> bool:
    done = EpisodeRevision.objects.filter(
        app=app,
        procedure_key=claim.procedure_key,
        episode__recall_state=RecallState.RECALLABLE,
    )
    before = done.filter(written_at__lt=clock.now() - ESTABLISHED_AFTER)
    if len(before.values_list("revision", flat=True)[: rules.count]) >= rules.count:
        return True
    vouched = done.filter(
        episode__outcome=Outcome.SUCCESS, episode__outcome_source__in=AUTHORITIES
    ).exclude(user_id=claim.user_id)
    return vouched.exists()


def _was_held(head: Episode) -> bool:
    """It is, or a person has released it."""
    return Block.objects.filter(
        app_id=head.app_id, episode=head, kind=BlockKind.HELD, revision=head.revision
    ).exists()
