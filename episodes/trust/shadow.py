"""Shadow recall: a new episode is put before past queries ahead of the first real one.

One that would be first for an outsized share of what its app asks, or of what its own subject
asks, is held for a person. Its text side is judged when it comes in, its vector in the transaction that
writes it: nobody can be given what has not been judged. Reading happens before that transaction's
locks; the arithmetic is episodes/trust/contest.py.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any
from uuid import UUID

from django.db.models import F, Q

from episodes import lifecycle
from episodes.audit import SYSTEM
from episodes.embedding.base import Embedder
from episodes.enums import BlockKind, IndexState, Scope
from episodes.models import App, Block, Episode, VectorGeneration
from episodes.ranking import Profile
from episodes.trust.contest import (
    Contender,
    Contest,
    Floats,
    Question,
    Verdict,
    is_outsized,
    is_outsized_for_subject,
)
from episodes.trust.replay import (
    query_vectors,
    read_pool,
    read_questions,
    read_questions_of,
    read_words,
    with_vectors,
)
from episodes.trust.rules import ShadowRules, TrustRules

SHADOW_RECALL = "shadow_recall"
OF_SUBJECT = 100  # episodes of one subject that a newcomer of theirs is compared with

# How long a reading of an app serves: it is a sample, and each newcomer changes it a little.
FRESH_SECONDS = 60.0
FRESH_JUDGEMENTS = 25


@dataclass(frozen=True, slots=True)
class Finding:
    """Why an episode is held, with the figures that a person is shown."""

    reason: str
    figures: Mapping[str, Any]


@dataclass(slots=True)
class _Reading:
    contest: Contest
    read_at: float
    judged: int = 0

    def is_fresh(self) -> bool:
        is_recent = time.monotonic() - self.read_at < FRESH_SECONDS
        return is_recent and self.judged < FRESH_JUDGEMENTS


_readings: dict[tuple[int, int | None, int, str], _Reading] = {}


def forget_readings() -> None:
    """Read everything again, as a new process would."""
    _readings.clear()
    query_vectors.forget()


@dataclass(frozen=True, slots=True)
class Watch:
    """What the newcomers of one app are put before. `generation` None: words alone."""

    app: App
    rules: ShadowRules
    profile: Profile
    generation: VectorGeneration | None
    reading: _Reading | None
    own: Mapping[str, Sequence[Question]] = field(default_factory=dict)

    def judge(
        self, newcomer: Contender, *, user_id: str | None, session_id: str | None
    ) -> Finding | None:
        """Return why the newcomer should be held, or None."""
        verdict = self._judge_in_app(newcomer, user_id, session_id)
        if verdict is not None and is_outsized(verdict, self.rules):
            return self._finding("app", verdict)
        verdict = self._judge_for_subject(newcomer, user_id, session_id)
        if verdict is not None and is_outsized_for_subject(verdict, self.rules):
            return self._finding("subject", verdict)
        return None

    def _judge_in_app(
        self, newcomer: Contender, user_id: str | None, session_id: str | None
    ) -> Verdict | None:
        if self.reading is None:
            return None
        self.reading.judged += 1
        return self.reading.contest.judge(newcomer, user_id=user_id, session_id=session_id)

    def _judge_for_subject(
        self, newcomer: Contender, user_id: str | None, session_id: str | None
    ) -> Verdict | None:
        questions = self.own.get(user_id or "", ())
        if len(questions) < self.rules.own_kinds:
            return None
        pool = read_pool(
            app=self.app,
            profile=self.profile,
            generation_id=self.generation.pk if self.generation else None,
            limit=OF_SUBJECT,
            user_id=user_id,
        )
        # a newer revision does not compete with the one that it replaces
        others = [one for one in pool if one.id != newcomer.id]
        contest = Contest(
            profile=self.profile, questions=questions, pool=others, kin=_kin(self.generation)
        )
        return contest.judge(newcomer, user_id=user_id, session_id=session_id)

    def _finding(self, whose: str, verdict: Verdict) -> Finding:
        side = "text" if self.generation is None else "vector"
        return Finding(SHADOW_RECALL, {"queries_of": whose, "side": side, **verdict.as_json()})


def watch_text(*, app: App, user_id: str) -> Watch | None:
    """Return what the text side of a new session is put before; no embedder is asked."""
    return _watch(app, user_ids=[user_id], generation=None, embedder=None)


def watch_vectors(
    *,
    app: App,
    user_ids: Collection[str],
    generation: VectorGeneration,
    embedder: Embedder,
) -> Watch | None:
    """Return what new vectors are put before; None when the app does not ask for it.

    Raises EmbeddingError when past queries cannot be embedded: then nothing is judged, and so
    nothing becomes ready.
    """
    return _watch(app, user_ids=user_ids, generation=generation, embedder=embedder)


def watch_apps(
    *,
    apps: Mapping[int, App],
    leases: Collection[tuple[int, UUID]],
    generation: VectorGeneration,
    embedder: Embedder,
) -> dict[int, Watch]:
    """Return the watches of what is about to be embedded, by app. Raises EmbeddingError."""
    subjects: dict[int, set[str]] = {}
    # what is ready already only changes its model
    new = Q(index_state=IndexState.PENDING) | Q(n_revisions__gt=F("revision"))
    heads = Episode.objects.filter(
        new,
        app_id__in=apps,
        id__in=[episode_id for _, episode_id in leases],
        user_id__isnull=False,
    )
    for app_id, user_id in heads.values_list("app_id", "user_id"):
        subjects.setdefault(app_id, set()).add(str(user_id))
    found = {
        app_id: watch_vectors(
            app=apps[app_id], user_ids=users, generation=generation, embedder=embedder
        )
        for app_id, users in subjects.items()
    }
    return {app_id: watch for app_id, watch in found.items() if watch is not None}


def _watch(
    app: App,
    *,
    user_ids: Collection[str],
    generation: VectorGeneration | None,
    embedder: Embedder | None,
) -> Watch | None:
    rules = TrustRules.from_json(app.review_rules).shadow
    if not rules.is_on or app.profile is None:
        return None
    profile = _profile(app)
    own = _own_questions(app, rules, user_ids, generation, embedder)
    reading = _read(app, rules, profile, generation, embedder)
    if reading is None and not own:
        return None
    return Watch(app, rules, profile, generation, reading, own)


def _read(
    app: App,
    rules: ShadowRules,
    profile: Profile,
    generation: VectorGeneration | None,
    embedder: Embedder | None,
) -> _Reading | None:
    key = (app.pk, generation.pk if generation else None, profile.version, repr(rules))
    known = _readings.get(key)
    if known is not None and known.is_fresh():
        return known
    questions = read_questions(app_id=app.pk, limit=rules.queries)
    if len(questions) < rules.least_kinds:
        return None  # not remembered: a young app grows
    questions = _with_vectors(questions, generation, embedder)
    pool = read_pool(
        app=app,
        profile=profile,
        generation_id=generation.pk if generation else None,
        limit=rules.pool,
    )
    if len(pool) < rules.least_peers:
        return None
    contest = Contest(profile=profile, questions=questions, pool=pool, kin=_kin(generation))
    for old in [one for one in _readings if one[:2] == key[:2]]:
        del _readings[old]
    _readings[key] = reading = _Reading(contest, time.monotonic())
    return reading


def _own_questions(
    app: App,
    rules: ShadowRules,
    user_ids: Collection[str],
    generation: VectorGeneration | None,
    embedder: Embedder | None,
) -> dict[str, list[Question]]:
    """Leave out who has asked too little to say anything, before anything is embedded."""
    if not user_ids:
        return {}
    found = read_questions_of(app_id=app.pk, user_ids=user_ids, limit=rules.queries)
    return {
        user: _with_vectors(questions, generation, embedder)
        for user, questions in found.items()
        if len(questions) >= rules.own_kinds
    }


def _with_vectors(
    questions: Sequence[Question], generation: VectorGeneration | None, embedder: Embedder | None
) -> list[Question]:
    if generation is None or embedder is None:
        return list(questions)
    return with_vectors(questions, generation, embedder)


def _kin(generation: VectorGeneration | None) -> float:
    """From this cosine on two queries ask the same: unrelated ones of one domain do not reach it."""
    return generation.failure_threshold if generation else 1.0


def _profile(app: App) -> Profile:
    """Return the app's profile with the thresholds that it leaves to the embedder."""
    generation = app.generation
    values = {one.name: getattr(app.profile, one.name) for one in fields(Profile)}
    for name in ("minimum", "failure_threshold"):
        if values[name] is None:
            values[name] = getattr(generation, name, 1.0)
    return Profile(**values)


def hold_if_outsized(*, head: Episode, revision: int, vector: Floats, watch: Watch) -> bool:
    """Hold a revision whose vector has just been written, if it would be first for too much.

    The caller holds the head's lock and lets the head follow in the same transaction. What a
    person has released is not held again by the same rule.
    """
    standing = Block.objects.filter(app_id=head.app_id, episode=head, kind=BlockKind.HELD)
    if head.scope == Scope.ORG:
        return False  # two people have read it
    judged = Q(revision=revision, reason=SHADOW_RECALL) | Q(closed_at=None, revision=revision)
    if standing.filter(judged).exists():
        return False
    words, identifiers = read_words(app_id=head.app_id, episode_id=head.id, revision=revision)
    finding = watch.judge(
        newcomer(head.id, words, identifiers, vector),
        user_id=head.user_id,
        session_id=head.session_id,
    )
    if finding is None:
        return False
    lifecycle.block_episode(
        episode=head,
        kind=BlockKind.HELD,
        revision=revision,
        reason=finding.reason,
        figures=finding.figures,
        actor=SYSTEM,
    )
    return True


def newcomer(
    id: UUID, words: frozenset[str], identifiers: frozenset[str], vector: Floats | None = None
) -> Contender:
    return Contender(id, words, identifiers, vector, weight=0.0)
