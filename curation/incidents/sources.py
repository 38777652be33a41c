"""What an incident can start from or be linked to, and whether the app knows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from curation.models import Containment, Flag, LinkKind, SourceKind
from episodes.models import App, Block, Episode, Recall


class UnknownTargetError(Exception):
    """The app has no such session, recall, episode, flag, containment or block."""


class SeveralSubjectsError(Exception):
    """Sessions of several subjects have this name. `subjects`: theirs, in order."""

    def __init__(self, subjects: Sequence[str]) -> None:
        super().__init__(f"{len(subjects)} subjects")
        self.subjects = subjects


@dataclass(frozen=True, slots=True)
class Target:
    """`kind` is one of LinkKind; `user_id` None: nobody's."""

    kind: str
    id: str
    user_id: str | None


def find_target(*, app: App, kind: str, target_id: str, user_id: str | None = None) -> Target:
    """Return what `target_id` names, with the subject whose it is; `user_id` tells sessions of one
    name apart. Raises UnknownTargetError, SeveralSubjectsError."""
    if kind == LinkKind.SESSION:
        return Target(kind, target_id, _subject_of_session(app, target_id, user_id))
    try:
        found = UUID(target_id)
    except ValueError as error:
        raise UnknownTargetError(kind) from error
    subjects = _subjects_of(app, kind, found)
    if not subjects:
        raise UnknownTargetError(kind)
    return Target(kind, str(found), subjects[0])


def _subjects_of(app: App, kind: str, target_id: UUID) -> Sequence[str | None]:
    """Return whose it is, in a list of one; empty when there is no such thing."""
    match kind:
        case LinkKind.RECALL:
            recalls = Recall.objects.filter(app_id=app.pk, id=target_id)
            return list(recalls.values_list("user_id", flat=True)[:1])
        case LinkKind.EPISODE:
            episodes = Episode.objects.of_app(app).filter(id=target_id)
            return list(episodes.values_list("user_id", flat=True)[:1])
        case LinkKind.BLOCK:
            blocks = Block.objects.filter(app_id=app.pk, change_id=target_id)
            return [None] if blocks.exists() else []
        case LinkKind.FLAG:
            flags = Flag.objects.filter(app=app, id=target_id)
            return list(flags.values_list("user_id", flat=True))
        case LinkKind.CONTAINMENT:
            closures = Containment.objects.filter(app=app, id=target_id)
            return list(closures.values_list("user_id", flat=True))
    return []


def find_source(*, app: App, kind: str, source_id: str, user_id: str | None = None) -> Target:
    """The same for what an incident starts from; a description names nothing."""
    if kind == SourceKind.DESCRIPTION:
        return Target(kind, "", None)
    if kind not in SourceKind.values:
        raise UnknownTargetError(kind)
    return find_target(app=app, kind=kind, target_id=source_id, user_id=user_id)


def _subject_of_session(app: App, session_id: str, user_id: str | None) -> str:
    """A session is known by what it wrote or what it searched for."""
    wrote = Episode.objects.of_app(app).filter(session_id=session_id, user_id__isnull=False)
    searched = Recall.objects.filter(app_id=app.pk, session_id=session_id)
    subjects = sorted(
        {str(one) for one in wrote.values_list("user_id", flat=True).distinct()}
        | set(searched.values_list("user_id", flat=True).distinct())
    )
    if user_id is not None:
        subjects = [one for one in subjects if one == user_id]
    if not subjects:
        raise UnknownTargetError("session")
    if len(subjects) > 1:
        raise SeveralSubjectsError(subjects)
    return subjects[0]
