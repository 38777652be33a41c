"""What an erasure does to precedents that its subject contributed to, in every app.

Runs in the erasure's transaction and with its rights, before the subject's own rows go.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

from django.db import transaction

from curation.models import Contribution, Precedent, PrecedentStatus
from curation.promotion.ending import end_precedent
from curation.promotion.recording import lock_precedent, record_act
from episodes.audit import Actor
from episodes.models import App

WORDING = "The subject whose wording it carried was erased."
TOO_FEW = "A contributor was erased, and fewer than k are left."


@dataclass(slots=True)
class Forgotten:
    """`withdrawn`: carried the subject's wording, and are to be derived from others again.
    `dropped`: proposals of that wording. `below_threshold`: withdrawn because too few are left.
    `org_episodes`: what search gives no more; the erasure may delete their text."""

    withdrawn: int = 0
    dropped: int = 0
    recounted: int = 0
    below_threshold: int = 0
    org_episodes: list[UUID] = field(default_factory=list)


@transaction.atomic
def forget_contributor(*, app: App, subject_hash: bytes, actor: Actor) -> Forgotten:
    """Take a subject of `app`, known by its keyed hash, out of every precedent, also where they
    were offered to other apps. Safe to run again: what was forgotten is not found a second time."""
    done = Forgotten()
    links = Contribution.objects.filter(subject_app=app, subject_hash=subject_hash)
    # one order for all, so that two erasures never wait for each other
    for link in list(links.order_by("precedent_id", "id")):
        held = lock_precedent(app_id=link.app_id, precedent_id=link.precedent_id)
        link.delete()
        if link.carries_wording:
            _forget_wording(held, done, actor=actor)
        else:
            _recount(held, done, actor=actor)
    return done


def _forget_wording(held: Precedent, done: Forgotten, *, actor: Actor) -> None:
    """Whatever became of it, its texts and its source go; what was published is taken back."""
    was_published = held.status == PrecedentStatus.APPROVED
    # first, so that no row written from here on names the subject
    held.user_id = held.source_episode_id = held.source_revision = None
    held.goal = held.resolution = held.lesson = ""
    held.steps, held.redactions, held.dropped, held.edited, held.accepted = [], [], [], [], []
    held.accepted_because = held.override_reason = ""
    held.issue_type = held.agent_id = held.toolset_version = ""
    held.is_to_rederive = was_published
    if was_published or held.is_open:
        end_precedent(
            held,
            status=PrecedentStatus.WITHDRAWN,
            actor=actor,
            reason=WORDING,
            code="contributor_erased",
        )
    if was_published:
        done.withdrawn += 1
    else:
        done.dropped += 1
    if held.org_episode_id is not None:
        done.org_episodes.append(held.org_episode_id)
    held.end_reason = WORDING
    held.version += 1
    held.save()


def _recount(held: Precedent, done: Forgotten, *, actor: Actor) -> None:
    left = Contribution.objects.filter(app_id=held.app_id, precedent=held).count()
    before, held.n_subjects = held.n_subjects, left
    held.version += 1
    done.recounted += 1
    is_short = left < held.threshold and not held.override_reason
    if held.status == PrecedentStatus.APPROVED and is_short:
        done.below_threshold += 1
        if held.org_episode_id is not None:
            done.org_episodes.append(held.org_episode_id)
        end_precedent(
            held,
            status=PrecedentStatus.WITHDRAWN,
            actor=actor,
            reason=TOO_FEW,
            code="below_threshold",
        )
    held.save(update_fields=["n_subjects", "version"])
    record_act(
        held,
        actor=actor,
        verb="precedent.recounted",
        before={"n_subjects": before},
        after={"n_subjects": left, "threshold": held.threshold},
    )
