"""One precedent with its source beside it, what the leak scan says, and who stands behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import F

from curation.models import Precedent, PrecedentStatus
from curation.promotion.draft import Finding
from curation.promotion.scan import draft_in, scan_precedent
from curation.promotion.support import Support, count_support
from curation.reading.side_by_side import SideBySide, side_by_side
from episodes.models import Episode, EpisodeRevision, Member


@dataclass(frozen=True, slots=True)
class Shown:
    """A finding of the leak scan with the words that it is about."""

    finding: Finding
    text: str


@dataclass(frozen=True, slots=True)
class PrecedentPage:
    """`source` None: it is another app's, has expired, or was erased. `support` and `findings` are
    of now, and only of what still waits. `org_episode` None: not published, or expired.
    `origin_ended`: the app that offered it publishes it no more."""

    precedent: Precedent
    source: Episode | None
    texts: SideBySide
    findings: Sequence[Shown]
    support: Support | None
    org_episode: Episode | None
    predecessor: Precedent | None
    successor: Precedent | None
    offers: Sequence[Precedent]
    origin_ended: bool

    @property
    def n_subjects(self) -> int:
        return len(self.support.subjects) if self.support else self.precedent.n_subjects


def read_precedent(*, member: Member, precedent_id: UUID) -> PrecedentPage | None:
    """Return what a member sees of a precedent, or None. Its source is shown to whoever may read
    the app's episodes, as it was when it was proposed."""
    found = (
        Precedent.objects.filter(app_id=member.app_id, id=precedent_id)
        .select_related("app", "offered_from_app")
        .first()
    )
    if found is None:
        return None
    source = _visible(member, found.source_episode_id)
    revision = _revision(found) if source else None
    draft = draft_in(found)
    related = Precedent.objects.filter(app_id=member.app_id)
    return PrecedentPage(
        precedent=found,
        source=source,
        texts=side_by_side(
            source=_texts(revision) if source and revision else None,
            draft={name: getattr(draft, name) for name in _NAMES},
            redactions=found.redactions,
            edited=found.edited,
        ),
        findings=_findings(found) if found.is_open else [],
        support=count_support(app=found.app, episode_id=source.id)
        if found.is_open and source
        else None,
        org_episode=_visible(member, found.org_episode_id),
        predecessor=related.filter(id=found.supersedes).first() if found.supersedes else None,
        successor=related.filter(supersedes=found.id)
        .order_by(F("approved_at").desc(nulls_last=True), "-proposed_at")
        .first(),
        offers=list(
            Precedent.objects.filter(offered_from_app=found.app_id, offered_from=found.id)
            .select_related("app")
            .order_by("proposed_at")
        )
        if found.org_episode_id
        else [],
        origin_ended=_has_ended_there(found),
    )


def precedent_of(*, member: Member, head: Episode) -> Precedent | None:
    """Return the newest precedent that an episode is, or was made into; one query."""
    rows = Precedent.objects.filter(app_id=member.app_id).defer("steps", "redactions")
    if head.user_id is None:
        return rows.filter(org_episode_id=head.id).first()
    return (
        rows.filter(source_episode_id=head.id)
        .exclude(status=PrecedentStatus.SUPERSEDED)
        .order_by("-proposed_at")
        .first()
    )


_NAMES = ("goal", "steps", "resolution", "lesson", "issue_type", "agent_id")


def _has_ended_there(found: Precedent) -> bool:
    """Whether the app that offered it publishes it no more."""
    if found.offered_from is None or found.offered_from_app_id is None:
        return False
    origin = Precedent.objects.filter(app_id=found.offered_from_app_id, id=found.offered_from)
    return not origin.filter(status=PrecedentStatus.APPROVED).exists()


def _visible(member: Member, episode_id: UUID | None) -> Episode | None:
    if episode_id is None:
        return None
    return Episode.objects.visible_to(member).filter(id=episode_id).first()


def _revision(precedent: Precedent) -> EpisodeRevision | None:
    """The one that was proposed: the offsets are into its texts."""
    return EpisodeRevision.objects.filter(
        pk=(precedent.app_id, precedent.source_episode_id, precedent.source_revision)
    ).first()


def _texts(revision: EpisodeRevision) -> dict[str, object]:
    return {name: getattr(revision, name) for name in _NAMES}


def _findings(precedent: Precedent) -> list[Shown]:
    return [Shown(one, _text_at(precedent, one)) for one in scan_precedent(precedent)]


def _text_at(precedent: Precedent, finding: Finding) -> str:
    """Return the words that a finding is about, out of the draft."""
    draft = draft_in(precedent)
    if "." not in finding.field:
        return str(getattr(draft, finding.field))[finding.start : finding.end]
    _, seq, part, *rest = finding.field.split(".", 3)
    step = next(one for one in draft.steps if str(one["seq"]) == seq)
    if part == "arguments":
        value = step["arguments"][rest[0]]
        text = " ".join(map(str, value)) if isinstance(value, list) else str(value)
    elif part == "names":
        return ", ".join(step.get("arguments", {}))
    else:
        text = str(step[part])
    return text[finding.start : finding.end]
