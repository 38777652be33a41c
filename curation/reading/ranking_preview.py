"""What another ranking profile would have done with the latest searches.

Both profiles weigh the same candidates: what each search was given and the best it was not, with
the factors as they were logged. So a difference is the profile's doing and nothing else's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from episodes.enums import Scope
from episodes.models import App, EpisodeRevision, Member, RankingProfile, Recall, RecallHit
from episodes.ranking import Candidate, Profile, choose

COUNTED = 200
SHOWN = 12  # enough to see what kind of change it is; the figures count all of them


class Change(StrEnum):
    ADDED = "added"
    REMOVED = "removed"
    MOVED = "moved"
    SAME = "same"


@dataclass(frozen=True, slots=True)
class Slot:
    """One episode of an answer, before and after; a rank is None where it is not in it."""

    episode_id: UUID
    goal: str
    outcome: str
    outcome_source: str | None
    before: int | None
    after: int | None
    score_before: float | None
    score_after: float | None

    @property
    def change(self) -> Change:
        if self.before is None:
            return Change.ADDED
        if self.after is None:
            return Change.REMOVED
        return Change.SAME if self.before == self.after else Change.MOVED


@dataclass(frozen=True, slots=True)
class Compared:
    recall: Recall
    slots: Sequence[Slot]

    @property
    def is_changed(self) -> bool:
        return any(slot.change is not Change.SAME for slot in self.slots)


@dataclass(frozen=True, slots=True)
class Preview:
    """`emptied`: searches that were given something, and would be given nothing."""

    n: int
    changed: Sequence[Compared]
    added: int
    removed: int
    moved: int
    emptied: int

    @property
    def unchanged(self) -> int:
        return self.n - len(self.changed)

    @property
    def shown(self) -> Sequence[Compared]:
        return self.changed[:SHOWN]


def resolve(app: App, constants: Mapping[str, Any], *, version: int) -> Profile:
    """Return constants as a profile, with the thresholds that they leave to the embedder."""
    generation = app.generation
    named = {field.name for field in fields(Profile)} & constants.keys()
    measured = {
        "minimum": generation.minimum if generation else 0.0,
        "failure_threshold": generation.failure_threshold if generation else 1.0,
    }
    known = {name: constants[name] for name in named if constants[name] is not None}
    return Profile(**measured | known | {"version": version})


def preview_profile(*, member: Member, current: Profile, proposed: Profile) -> Preview:
    """Rank the newest searches anew under both profiles. Four queries."""
    recalls = list(
        Recall.objects.filter(app_id=member.app_id).order_by("-recalled_at", "-id")[:COUNTED]
    )
    then = {
        profile.version: profile for profile in RankingProfile.objects.filter(app_id=member.app_id)
    }
    hits = _hits(member, recalls)
    evidence = _evidence(member, recalls, hits)
    compared = [
        _compare(
            recall,
            _Then(recall, then[int(recall.profile.rpartition("@")[2])], evidence),
            hits.get(recall.id, []),
            current,
            proposed,
        )
        for recall in recalls
    ]
    changed = [one for one in compared if one.is_changed]
    changes = [slot.change for one in changed for slot in one.slots]
    return Preview(
        n=len(compared),
        changed=changed,
        added=changes.count(Change.ADDED),
        removed=changes.count(Change.REMOVED),
        moved=changes.count(Change.MOVED),
        emptied=sum(
            any(slot.before for slot in one.slots) and not any(slot.after for slot in one.slots)
            for one in changed
        ),
    )


def _hits(member: Member, recalls: Sequence[Recall]) -> dict[UUID, list[RecallHit]]:
    found: dict[UUID, list[RecallHit]] = {}
    for hit in RecallHit.objects.filter(
        app_id=member.app_id,
        recalled_at__in={recall.recalled_at for recall in recalls},
        recall_id__in=[recall.id for recall in recalls],
    ).order_by("rank"):
        found.setdefault(hit.recall_id, []).append(hit)
    return found


_Key = tuple[UUID, int]


def _evidence(
    member: Member, recalls: Sequence[Recall], hits: Mapping[UUID, Sequence[RecallHit]]
) -> Mapping[_Key, EpisodeRevision]:
    """Return the revisions that were compared; what is gone since cannot be ranked any more."""
    ids = {hit.episode_id for of_recall in hits.values() for hit in of_recall} | {
        UUID(left["episode_id"]) for recall in recalls for left in recall.excluded
    }
    revisions = EpisodeRevision.objects.filter(app_id=member.app_id, episode_id__in=ids)
    return {
        (one.episode_id, one.revision): one
        for one in revisions.only(
            "app_id",
            "episode_id",
            "revision",
            "goal",
            "procedure_key",
            "recorded_outcome",
            "identifiers",
        )
    }


@dataclass(frozen=True, slots=True)
class _Then:
    """A search as it was, for weighing its candidates anew."""

    recall: Recall
    profile: RankingProfile
    evidence: Mapping[_Key, EpisodeRevision]

    def candidates(self, hits: Sequence[RecallHit]) -> list[tuple[Candidate, EpisodeRevision]]:
        given = [
            {
                "episode_id": hit.episode_id,
                "scope": hit.scope,
                "reason": None,
                **{name: getattr(hit, name) for name in _LOGGED},
            }
            for hit in hits
        ]
        left = [
            {
                "episode_id": UUID(stored["episode_id"]),
                "scope": stored.get("scope", Scope.USER),  # of old, all were
                "reason": stored["reason"],
                **{name: stored[name] for name in _LOGGED},
            }
            for stored in self.recall.excluded
        ]
        found = []
        for logged in [*given, *left]:
            revision = self.evidence.get((logged["episode_id"], logged["revision"]))
            if revision is not None:
                found.append((self._candidate(logged, revision), revision))
        return found

    def _candidate(self, logged: Mapping[str, Any], revision: EpisodeRevision) -> Candidate:
        return Candidate(
            id=logged["episode_id"],
            similarity=logged["similarity"],
            text=logged["text"],
            outcome=logged["outcome"],
            outcome_source=logged["outcome_source"],
            recorded_outcome=revision.recorded_outcome,
            toolset=logged["toolset"],
            age_days=logged["age_days"],
            completed_at=self.recall.recalled_at - timedelta(days=logged["age_days"]),
            procedure_key=revision.procedure_key,
            scope=logged["scope"],
            carries_own_wording=logged["reason"] == "own_copy",
        )

    def text_under(self, profile: Profile, one: Candidate, revision: EpisodeRevision) -> float:
        """The text factor was logged with its weight in it: which of the two, the tokens tell."""
        by_names = not set(self.recall.query_tokens).isdisjoint(revision.identifiers)
        name = "identifier_weight" if by_names else "text_weight"
        before = getattr(self.profile, name)
        return one.text * getattr(profile, name) / before if before else 0.0

    def limit_under(self, profile: Profile) -> int:
        """A search that asked for less than the profile allowed would ask so again."""
        if self.recall.result_limit < self.profile.max_results:
            return min(self.recall.result_limit, profile.max_results)
        return profile.max_results


_LOGGED = (
    "revision",
    "similarity",
    "text",
    "outcome",
    "outcome_source",
    "toolset",
    "age_days",
)


def _compare(
    recall: Recall, then: _Then, hits: Sequence[RecallHit], current: Profile, proposed: Profile
) -> Compared:
    known = then.candidates(hits)
    ranked: list[dict[UUID, tuple[int, float]]] = []
    for profile in (current, proposed):
        weighed = [
            replace(one, text=then.text_under(profile, one, revision)) for one, revision in known
        ]
        chosen = choose(
            profile,
            weighed,
            limit=then.limit_under(profile),
            include_failures=recall.include_failures,
        )
        ranked.append(
            {one.id: (rank, factors.score) for rank, (one, factors) in enumerate(chosen, 1)}
        )
    before, after = ranked
    return Compared(
        recall,
        [
            Slot(
                episode_id=one.id,
                goal=revision.goal,
                outcome=one.outcome,
                outcome_source=one.outcome_source,
                before=before[one.id][0] if one.id in before else None,
                after=after[one.id][0] if one.id in after else None,
                score_before=before[one.id][1] if one.id in before else None,
                score_after=after[one.id][1] if one.id in after else None,
            )
            for one, revision in known
            if one.id in before or one.id in after
        ],
    )
