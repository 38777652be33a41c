"""What a logged search would have returned at a moment: its query, filters and constants, asked of
the store as it was then.

Only the store differs between two moments: profile, thresholds, generation and limit are the
recall's own (episodes/ranking.py weighs), and retention reaches as far back from the moment as it
did from the search. Of what the organisation shares every episode is compared, while a search of
much looks at those that come near. Agrees with the log at the recall's own time, as far as its rows are still
there; what was erased or has expired since is counted, and never shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from uuid import UUID

from episodes.effective import Effective
from episodes.enums import RecallMode, Scope, ToolsetRelation
from episodes.models import App, Episode, RankingProfile, Recall, RecallHit
from episodes.past.expired import cutoffs_at, still_shown, unexpired_then
from episodes.past.measuring import Measure, measure
from episodes.past.standing import (
    Stood,
    effective_at,
    read_stood,
    served_of,
    toolsets_at,
)
from episodes.ranking import Candidate, Factors, Profile, choose, exclusion, weigh


@dataclass(frozen=True, slots=True)
class Found:
    """A candidate as it was weighed. `reason`: why it was not returned; None: it was."""

    candidate: Candidate
    factors: Factors
    revision: int
    content_hash: str
    is_reviewed: bool
    reason: str | None

    @property
    def id(self) -> UUID:
        return self.candidate.id


@dataclass(frozen=True, slots=True)
class AsOf:
    """`returned` and `left`, each best first. `blocked`: kept out at the moment.

    `gone`: how many episodes were there at the moment and cannot be shown any more; at another
    moment than the recall's own, at least so many (`is_exact` False): the log tells only of those
    that a search was given. `without_similarity`: no embedder here makes such vectors any more.
    """

    moment: datetime
    returned: Sequence[Found]
    left: Sequence[Found]
    blocked: frozenset[UUID]
    candidates: int
    is_cut: bool
    gone: int
    is_exact: bool
    without_similarity: bool


def profile_then(recall: Recall) -> Profile:
    """Return the constants that the recall was ranked by."""
    name, _, version = recall.profile.rpartition("@")
    row = RankingProfile.objects.get(app_id=recall.app_id, name=name, version=int(version))
    of_the_row = {field.name: getattr(row, field.name) for field in fields(Profile)}
    return Profile(
        **of_the_row
        | {
            "minimum": recall.minimum,
            "failure_threshold": recall.failure_threshold,
            "window": recall.window,
        }
    )


def search_as_of(*, app: App, recall: Recall, moment: datetime) -> AsOf:
    """Return what the search would have returned at `moment`. Eight queries, and the embedder for
    the query and for revisions that were superseded since; two more where policies tell episodes
    apart."""
    profile = profile_then(recall)
    cutoffs = cutoffs_at(recall, moment)
    every = read_stood(recall=recall, moment=moment, cutoff=cutoffs.oldest)
    visible = still_shown(app, unexpired_then(every, recall, moment, cutoffs))
    stood, is_cut = _in_window(
        _filtered([one for one in visible if not one.is_blocked], recall, moment), recall.window
    )
    measured = measure(recall=recall, profile=profile, stood=stood, moment=moment)
    outcomes = effective_at(
        app_id=recall.app_id, served=served_of([one.stood for one in measured.rows]), moment=moment
    )
    current = toolsets_at(recall=recall, moment=moment)
    weighed = [
        _candidate(
            one,
            outcomes[one.stood.episode_id],
            current.relation(version=one.toolset_version, kind=one.toolset_kind),
            moment,
        )
        for one in measured.rows
    ]
    found = _chosen(profile, recall, measured.rows, weighed, outcomes)
    is_own_time = moment == recall.recalled_at
    named = _named_and_gone(app, recall, moment)
    missing = recall.candidates - measured.n if is_own_time else 0
    return AsOf(
        moment=moment,
        returned=[one for one in found if one.reason is None],
        left=[one for one in found if one.reason is not None],
        blocked=frozenset(one.episode_id for one in visible if one.is_blocked),
        candidates=measured.n,
        is_cut=is_cut,
        gone=max(len(named), missing),
        is_exact=is_own_time and recall.mode == RecallMode.EXACT,
        without_similarity=measured.without_similarity,
    )


def _filtered(stood: Sequence[Stood], recall: Recall, moment: datetime) -> Sequence[Stood]:
    """Apply the filters by what had been said, which go before the window."""
    wanted, reviewed = recall.filters.get("outcome"), recall.filters.get("reviewed")
    if not wanted and not reviewed:
        return stood
    known = effective_at(app_id=recall.app_id, served=served_of(stood), moment=moment)
    return [
        one
        for one in stood
        if (not wanted or known[one.episode_id].outcome in wanted)
        and (not reviewed or one.revision in known[one.episode_id].reviewed)
    ]


def _in_window(stood: Sequence[Stood], window: int) -> tuple[Sequence[Stood], bool]:
    """A subject's scope is its newest; what is shared is all compared."""
    own = [one for one in stood if one.scope == Scope.USER]
    shared = [one for one in stood if one.scope == Scope.ORG]
    return [*own[:window], *shared], len(own) > window


def _candidate(
    one: Measure, effective: Effective, relation: ToolsetRelation, moment: datetime
) -> Candidate:
    age = (moment - one.stood.completed_at).total_seconds() / 86_400
    return Candidate(
        id=one.stood.episode_id,
        similarity=one.similarity,
        text=one.text,
        outcome=effective.outcome,
        outcome_source=effective.source,
        recorded_outcome=one.recorded_outcome,
        toolset=relation,
        age_days=max(age, 0.0),
        completed_at=one.stood.completed_at,
        procedure_key=one.procedure_key,
        scope=one.stood.scope,
        carries_own_wording=one.stood.is_own_wording,
    )


def _chosen(
    profile: Profile,
    recall: Recall,
    rows: Sequence[Measure],
    candidates: Sequence[Candidate],
    outcomes: Mapping[UUID, Effective],
) -> list[Found]:
    """Return what is returned, in its order, and then the rest, best first."""
    asked = {"include_failures": recall.include_failures}
    chosen = choose(profile, candidates, limit=recall.result_limit, **asked)
    place = {one.id: rank for rank, (one, _) in enumerate(chosen)}
    factors = {one.id: weigh(profile, one) for one in candidates}
    excluded = {
        one.id: exclusion(
            profile,
            similarity=one.similarity,
            relevance=factors[one.id].relevance,
            outcome=one.outcome,
            recorded_outcome=one.recorded_outcome,
            **asked,
        )
        for one in candidates
    }
    own = {o.procedure_key for o in candidates if o.scope == Scope.USER and not excluded[o.id]}
    taken = {(one.procedure_key, one.outcome) for one, _ in chosen}

    def reason(one: Candidate) -> str | None:
        if one.id in place or excluded[one.id]:
            return excluded[one.id]
        if one.carries_own_wording and one.procedure_key in own:
            return "own_copy"
        return "same_procedure" if (one.procedure_key, one.outcome) in taken else "cap"

    found = [
        Found(
            candidate=one,
            factors=factors[one.id],
            revision=row.stood.revision,
            content_hash=row.content_hash,
            is_reviewed=row.stood.revision in outcomes[one.id].reviewed,
            reason=reason(one),
        )
        for row, one in zip(rows, candidates, strict=True)
    ]
    return sorted(found, key=lambda one: (place.get(one.id, len(place)), -one.factors.score))


def _named_and_gone(app: App, recall: Recall, moment: datetime) -> set[UUID]:
    """Return the episodes that the log shows to have been there at the moment, and that nobody can
    see any more: ended before it, and named by a search at or after it."""
    there = set(
        RecallHit.objects.filter(
            app_id=recall.app_id,
            user_id=recall.user_id,
            recalled_at__gte=moment,
            completed_at__lte=moment,
        ).values_list("episode_id", flat=True)
    )
    for left in recall.excluded:
        ended = recall.recalled_at - timedelta(days=left["age_days"])
        if ended <= moment <= recall.recalled_at:
            there.add(UUID(left["episode_id"]))
    visible = Episode.objects.of_app(app).unexpired(app.cutoffs).unerased()
    return there - set(visible.filter(id__in=there).values_list("id", flat=True))
