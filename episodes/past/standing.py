"""What held at a moment, out of intervals and entries: never out of what a head says now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from episodes.effective import Effective, effective_outcome
from episodes.enums import Scope, SearchedScope, State, ToolsetRelation
from episodes.models import (
    Block,
    EpisodeRevision,
    OutcomeEntry,
    Recall,
    Serving,
    Toolset,
)
from episodes.tombstones import subject_hash
from episodes.toolsets import kind_of

# Filters of a search, as the columns they compare: of the head what never changes, and of the
# revision that was served what describes the session.
_COLUMNS = {"since": "episode__completed_at__gte", "until": "episode__completed_at__lt"}
_SERVED_COLUMNS = {
    "agent": "agent_id",
    "task_id": "task_id",
    "issue_type": "issue_type",
    "tags": "tags__contains",
}


@dataclass(frozen=True, slots=True)
class Stood:
    """A completed episode of a search's scope, with the revision served at the moment.

    `is_own_wording`: shared by the organisation, in the words of the very subject that searched.
    """

    episode_id: UUID
    revision: int
    scope: str
    completed_at: datetime
    is_blocked: bool
    is_own_wording: bool


def open_at(moment: datetime, *, begins: str, ends: str) -> Q:
    """Match the interval rows that cover the moment; one ends before the next begins."""
    return Q(**{f"{begins}__lte": moment}) & (
        Q(**{f"{ends}__isnull": True}) | Q(**{f"{ends}__gt": moment})
    )


def read_stood(*, recall: Recall, moment: datetime, cutoff: datetime) -> list[Stood]:
    """Return what the search's scope and head filters held, newest first, blocked ones among it.

    `cutoff`: what ended before had expired. Filters by outcome and review, and by what stands in
    the evidence, are the caller's.
    """
    rows = (
        Serving.objects.filter(
            _of_scope(recall),
            # where nobody can tell when the store learned of the end, the episode counts from its
            # receipt on
            Q(episode__completed_recorded_at__lte=moment)
            | Q(episode__completed_recorded_at__isnull=True),
            open_at(moment, begins="served_from", ends="served_to"),
            app_id=recall.app_id,
            episode__app_id=recall.app_id,
            episode__state=State.COMPLETED,
            episode__received_at__lte=moment,
            episode__completed_at__gt=cutoff,
            **_named_by(_COLUMNS, recall),
        )
        .annotate(is_blocked=_blocked(recall, moment))
        .order_by("-episode__completed_at", "-episode_id", "served_from")
    )
    if said := _named_by(_SERVED_COLUMNS, recall):
        rows = rows.filter(_served_says(recall, **said))
    found = rows.values_list(
        "episode_id",
        "revision",
        "episode__scope",
        "episode__completed_at",
        "is_blocked",
        "episode__wording_hash",
    )
    kept = {row[0]: row for row in found}
    own = subject_hash(app_id=recall.app_id, user_id=recall.user_id)
    return [
        Stood(key, revision, scope, completed_at, is_blocked, wording == own)
        for key, revision, scope, completed_at, is_blocked, wording in kept.values()
        if completed_at is not None
    ]


def _named_by(columns: Mapping[str, str], recall: Recall) -> dict[str, object]:
    return {columns[name]: value for name, value in recall.filters.items() if name in columns}


def _of_scope(recall: Recall) -> Q:
    own = Q(episode__scope=Scope.USER, episode__user_id=recall.user_id)
    if recall.session_id is not None:  # a run is no precedent of itself
        own &= ~Q(episode__session_id=recall.session_id)
    shared = Q(episode__scope=Scope.ORG)
    return {SearchedScope.USER: own, SearchedScope.ORG: shared}.get(
        SearchedScope(recall.scope), own | shared
    )


def _blocked(recall: Recall, moment: datetime) -> Exists:
    return Exists(
        Block.objects.of_served(OuterRef("revision")).filter(
            open_at(moment, begins="opened_at", ends="closed_at"),
            app_id=recall.app_id,
            episode_id=OuterRef("episode_id"),
        )
    )


def _served_says(recall: Recall, **said: object) -> Exists:
    return Exists(
        EpisodeRevision.objects.filter(
            app_id=recall.app_id,
            episode_id=OuterRef("episode_id"),
            revision=OuterRef("revision"),
            **said,
        )
    )


def effective_at(
    *, app_id: int, served: Mapping[UUID, int], moment: datetime
) -> dict[UUID, Effective]:
    """Return the effective outcome of each episode at the moment; `served`: its revision then."""
    said: dict[UUID, list[OutcomeEntry]] = {one: [] for one in served}
    entries: QuerySet[OutcomeEntry] = OutcomeEntry.objects.filter(
        app_id=app_id, episode_id__in=list(served), at__lte=moment
    ).only("id", "episode_id", "outcome", "source", "revision", "retracts", "seq")
    for entry in entries:
        said[entry.episode_id].append(entry)
    return {one: effective_outcome(of_one, served=served[one]) for one, of_one in said.items()}


@dataclass(frozen=True, slots=True)
class CurrentToolsets:
    """What an episode's tools were compared with: versions in use, and what they are hashes of."""

    versions: frozenset[str]
    kinds: frozenset[str]

    def relation(self, *, version: str, kind: str) -> ToolsetRelation:
        if version and version in self.versions:
            return ToolsetRelation.CURRENT
        if not version or kind not in self.kinds:
            return ToolsetRelation.UNKNOWN
        return ToolsetRelation.OTHER


def toolsets_at(*, recall: Recall, moment: datetime) -> CurrentToolsets:
    """Return what was current for the searching agent."""
    standing = Toolset.objects.in_use(moment).filter(app_id=recall.app_id)
    if recall.agent_id:
        standing = standing.filter(agent_id__in=("", recall.agent_id))
    own = _named(recall)
    found = list(standing.values_list("version", "hash_kind"))
    return CurrentToolsets(
        frozenset({version for version, _ in found} | own.keys()),
        frozenset({kind for _, kind in found} | set(own.values())),
    )


def _named(recall: Recall) -> dict[str, str]:
    """The version that the search itself named."""
    version = recall.toolset_version
    return {version: kind_of(version)} if version else {}


def served_of(stood: Iterable[Stood]) -> dict[UUID, int]:
    return {one.episode_id: one.revision for one in stood}
