"""Backwards from an incident: what its runs had recalled, as it was then, and where that came from."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q

from curation.models import Precedent as Promotion
from curation.reading.incidents import Roots
from curation.reading.recall import Given, read_given
from episodes.effective import REVIEW_SOURCES
from episodes.models import Block, Episode, Member, OutcomeEntry, Recall, RecallHit, being_erased

MOST = 100  # recalls; a run that asked more often is cut, and the page says so


@dataclass(frozen=True, slots=True)
class Precedent:
    """`judged`: what people said of it, oldest first. `blocked`: every block it ever had.
    `promoted`: how it came to be the organisation's, if it is."""

    given: Given
    judged: Sequence[OutcomeEntry]
    blocked: Sequence[Block]
    promoted: Promotion | None

    @property
    def is_as_served(self) -> bool:
        """Whether the evidence that is stored is what was served."""
        revision = self.given.revision
        return revision is not None and revision.content_hash == self.given.hit.content_hash


@dataclass(frozen=True, slots=True)
class Recalled:
    recall: Recall
    precedents: Sequence[Precedent]


@dataclass(frozen=True, slots=True)
class Backwards:
    """`wrote`: the episodes of the incident's own runs."""

    recalled: Sequence[Recalled]
    wrote: Sequence[Episode]
    is_cut: bool

    @property
    def given_ids(self) -> list[UUID]:
        """The episodes that were given, each once, in order."""
        hits = [one.given.hit for recalled in self.recalled for one in recalled.precedents]
        return list(dict.fromkeys(hit.episode_id for hit in hits if hit.served))


def read_backwards(*, member: Member, roots: Roots) -> Backwards:
    """Return the recalls of the roots, oldest first. Ten queries.

    A root that is a session or an episode stands for all that its run recalled, a root that is a
    recall for itself alone.
    """
    wrote = _wrote(member, roots)
    of_roots = {(one.user_id, one.session_id) for one in wrote if one.id in roots.episodes}
    recalls = _recalls(member, {*roots.sessions, *of_roots}, roots.recalls)
    shown = recalls[:MOST]
    hits = list(
        RecallHit.objects.filter(
            app_id=member.app_id,
            recalled_at__in={recall.recalled_at for recall in shown},
            recall_id__in=[recall.id for recall in shown],
        ).order_by("recalled_at", "recall_id", "rank")
    )
    given, _ = read_given(member=member, hits=hits)
    ids = {hit.episode_id for hit in hits}
    judged, blocked, promoted = _judged(member, ids), _blocked(member, ids), _promoted(member, ids)
    by_recall: dict[UUID, list[Precedent]] = {}
    for one in given:
        named = one.hit.episode_id
        precedent = Precedent(
            one, judged.get(named, []), blocked.get(named, []), promoted.get(named)
        )
        by_recall.setdefault(one.hit.recall_id, []).append(precedent)
    return Backwards(
        recalled=[Recalled(recall, by_recall.get(recall.id, [])) for recall in shown],
        wrote=wrote,
        is_cut=len(recalls) > MOST,
    )


def _wrote(member: Member, roots: Roots) -> list[Episode]:
    visible = Episode.objects.visible_to(member)
    searching = Recall.objects.filter(
        app_id=member.app_id, id__in=roots.recalls, session_id__isnull=False
    ).values_list("user_id", "session_id")
    named = Q(id__in=roots.episodes)
    for user_id, session_id in {*roots.sessions, *searching}:
        named |= Q(user_id=user_id, session_id=session_id)
    return list(visible.filter(named).order_by("received_at", "id"))


def _recalls(
    member: Member,
    sessions: Collection[tuple[str | None, str | None]],
    named: Collection[UUID],
) -> list[Recall]:
    wanted = Q(id__in=named)
    for user_id, session_id in sessions:
        if user_id is not None:
            wanted |= Q(user_id=user_id, session_id=session_id)
    rows = Recall.objects.filter(wanted, ~being_erased(), app_id=member.app_id)
    return list(rows.order_by("recalled_at", "id")[: MOST + 1])


def _judged(member: Member, ids: Collection[UUID]) -> Mapping[UUID, list[OutcomeEntry]]:
    found: dict[UUID, list[OutcomeEntry]] = {}
    for entry in OutcomeEntry.objects.filter(
        app_id=member.app_id, episode_id__in=ids, source__in=REVIEW_SOURCES
    ).order_by("seq"):
        found.setdefault(entry.episode_id, []).append(entry)
    return found


def _blocked(member: Member, ids: Collection[UUID]) -> Mapping[UUID, list[Block]]:
    found: dict[UUID, list[Block]] = {}
    for block in Block.objects.filter(app_id=member.app_id, episode_id__in=ids).order_by(
        "opened_at", "id"
    ):
        found.setdefault(block.episode_id, []).append(block)
    return found


def _promoted(member: Member, ids: Collection[UUID]) -> Mapping[UUID, Promotion]:
    rows = Promotion.objects.filter(app_id=member.app_id, org_episode_id__in=ids)
    return {one.org_episode_id: one for one in rows if one.org_episode_id}
