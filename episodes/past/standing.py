"""What held at a moment, out of intervals and entries: never out of what a head says now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from episodes.effective import Effective, effective_outcome
from episodes.enums import Scope, SearchedScope, State, ToolsetRelation
from episodes.ingest.store import LIFECYCLE
from episodes.models import (
    AuditEntry,
    AuditPayload,
    Block,
    EpisodeRevision,
    OutcomeEntry,
    Recall,
    Serving,
    Toolset,
)
from episodes.tombstones import subject_hash
from episodes.toolsets import USE, kind_of

# A filter of a search, as the column it compares. Agent, task and tags are not kept by revision:
# they are compared as the head has them now, and a later checkpoint may have set them.
_COLUMNS = {
    "agent": "episode__agent_id",
    "task_id": "episode__task_id",
    "tags": "episode__tags__contains",
    "since": "episode__completed_at__gte",
    "until": "episode__completed_at__lt",
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
            open_at(moment, begins="served_from", ends="served_to"),
            app_id=recall.app_id,
            episode__app_id=recall.app_id,
            episode__state=State.COMPLETED,
            episode__received_at__lte=moment,
            episode__completed_at__gt=cutoff,
            **{_COLUMNS[name]: value for name, value in recall.filters.items() if name in _COLUMNS},
        )
        .annotate(is_blocked=_blocked(recall, moment), at_once=_completed_at_once(recall))
        .order_by("-episode__completed_at", "-episode_id", "served_from")
    )
    if "issue_type" in recall.filters:
        rows = rows.filter(_served_says(recall, issue_type=recall.filters["issue_type"]))
    found = rows.values_list(
        "episode_id",
        "revision",
        "episode__scope",
        "episode__completed_at",
        "is_blocked",
        "episode__wording_hash",
        "at_once",
        "episode__origin",
    )
    kept = {row[0]: row for row in found}
    late = [key for key, row in kept.items() if not row[6] or row[7] == LIFECYCLE]
    known = _completions(recall.app_id, late)
    own = subject_hash(app_id=recall.app_id, user_id=recall.user_id)
    return [
        Stood(key, revision, scope, completed_at, is_blocked, wording == own)
        for key, revision, scope, completed_at, is_blocked, wording, *_ in kept.values()
        if completed_at is not None and known.get(key, moment) <= moment
    ]


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
        Block.objects.filter(
            open_at(moment, begins="opened_at", ends="closed_at"),
            Q(revision__isnull=True) | Q(revision=OuterRef("revision")),
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


def _completed_at_once(recall: Recall) -> Exists:
    """What came finished was complete when it came."""
    return Exists(
        EpisodeRevision.objects.filter(
            app_id=recall.app_id, episode_id=OuterRef("episode_id"), revision=1, is_final=True
        )
    )


def _completions(app_id: int, episode_ids: Sequence[UUID]) -> Mapping[UUID, datetime]:
    """Return when the store learned that each was complete: `completed_at` is the caller's time,
    and may lie before that. The audit is where the change stands with the server's own time."""
    if not episode_ids:
        return {}
    entries = list(
        AuditEntry.objects.filter(
            app_id=app_id, target_kind="episode", target_id__in=[str(one) for one in episode_ids]
        ).order_by("at", "id")
    )
    payloads = AuditPayload.objects.filter(app_id=app_id).in_bulk([entry.id for entry in entries])
    found: dict[UUID, datetime] = {}
    for entry in entries:
        payload = payloads.get(entry.id)
        after = (payload.payload.get("after") or {}) if payload else {}
        if entry.verb == "episode.completed" or after.get("state") == State.COMPLETED:
            found.setdefault(UUID(entry.target_id), entry.at)
    return found


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
    """Return what was current for the searching agent.

    Of its use a toolset keeps the last alone: one that lay unused for a week and was then used
    again counts as in use throughout.
    """
    standing = Toolset.objects.filter(
        open_at(moment, begins="declared_at", ends="retired_at"),
        app_id=recall.app_id,
        last_used_at__gt=moment - USE,
    )
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
