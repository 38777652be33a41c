"""Deciding how an episode ended: a person's word, bound to what that person had before them.

The effect is episodes/lifecycle/'s. This module owns who may say what: nobody decides on what
they have not seen, feedback is accepted as somebody's own word, and one takes back only one's own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Self

from django.db import transaction
from django.db.models import QuerySet

from curation.saying import kept_words, masked_words
from episodes import lifecycle
from episodes.audit import Actor
from episodes.effective import REVIEW_SOURCES
from episodes.enums import Outcome, OutcomeSource, Rating, State
from episodes.lifecycle import Statement, lock_head
from episodes.models import Episode, Feedback, OutcomeEntry
from episodes.tombstones import refuse_erased
from memoryadmin.lib import clock

# How long, and how many of one's own decisions, can be taken back without stating anew.
UNDO_WITHIN = timedelta(hours=1)
UNDO_DEPTH = 20

# What a user's rating says about the outcome. A neutral one says nothing.
PROPOSED = {Rating.POSITIVE: Outcome.SUCCESS, Rating.NEGATIVE: Outcome.FAILURE}

_SEEN = re.compile(r"(\d{1,9})\.(\d{1,9})", re.ASCII)


class BadSeenError(ValueError):
    """The text does not say what was seen: a form was cut or made up."""


class NotCompletedError(Exception):
    """The episode is still open; it has no end yet to judge."""


class NothingProposedError(Exception):
    """The feedback is neutral: it proposes no outcome that could be accepted."""


class OtherSessionError(Exception):
    """The feedback belongs to another session than the episode."""


class NotOwnDecisionError(Exception):
    """Only the person who decided takes a decision back."""


class TooLateToUndoError(Exception):
    """The decision is no longer among one's last; it stands until somebody states another."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What somebody had before them: the served revision, and how many statements there were."""

    revision: int
    n_entries: int

    def __str__(self) -> str:
        return f"{self.revision}.{self.n_entries}"

    @classmethod
    def of(cls, head: Episode) -> Self:
        return cls(head.revision, head.n_entries)

    @classmethod
    def read(cls, text: str) -> Self:
        """Raises BadSeenError."""
        match = _SEEN.fullmatch(text)
        if match is None:
            raise BadSeenError(text[:40])
        return cls(int(match[1]), int(match[2]))


class ChangedMeanwhileError(Exception):
    """Something happened to the episode since it was read; nothing was decided.

    `entries`: what was stated or taken back since, oldest first. `revision`: the one served now,
    if that is another.
    """

    def __init__(self, entries: Sequence[OutcomeEntry], revision: int | None) -> None:
        super().__init__(f"{len(entries)} statements, revision {revision}")
        self.entries = entries
        self.revision = revision


@transaction.atomic
def correct_outcome(
    *,
    episode: Episode,
    outcome: str,
    reason: str,
    seen: Seen,
    actor: Actor,
    settles: bool = False,
) -> OutcomeEntry:
    """State how the episode ended, as a reviewer or, with `settles`, as the curator who ends an
    argument.

    The same decision sent twice is one. Raises ChangedMeanwhileError, NotCompletedError,
    NothingKeptError, SubjectErasedError, Episode.DoesNotExist.
    """
    source = OutcomeSource.RESOLUTION if settles else OutcomeSource.REVIEWER
    return _decide(episode, outcome, source, reason=reason, seen=seen, actor=actor, evidence={})


@transaction.atomic
def accept_feedback(
    *, episode: Episode, feedback: Feedback, reason: str, seen: Seen, actor: Actor
) -> OutcomeEntry:
    """State, as a reviewer, what the user's feedback proposes; the feedback is the evidence.

    Raises NothingProposedError, OtherSessionError, and what correct_outcome raises.
    """
    if (feedback.app_id, feedback.user_id, feedback.session_id) != (
        episode.app_id,
        episode.user_id,
        episode.session_id,
    ):
        raise OtherSessionError(str(feedback.id))
    proposed = PROPOSED.get(Rating(feedback.rating))
    if proposed is None:
        raise NothingProposedError(str(feedback.id))
    return _decide(
        episode,
        proposed,
        OutcomeSource.REVIEWER,
        reason=reason,
        seen=seen,
        actor=actor,
        evidence={"feedback": str(feedback.id), "rating": feedback.rating},
    )


@transaction.atomic
def undo_decision(*, entry: OutcomeEntry, actor: Actor, reason: str = "") -> OutcomeEntry:
    """Take one's own decision back, if it is among one's last.

    Raises NotOwnDecisionError, TooLateToUndoError, AlreadyRetractedError, SubjectErasedError.
    """
    if entry.user_id is not None:
        refuse_erased(app_id=entry.app_id, user_id=entry.user_id)
    if entry.source not in REVIEW_SOURCES or entry.stated_by != actor.name:
        raise NotOwnDecisionError(str(entry.id))
    # what others do with the same rows is the unique constraint's business, one retraction each
    last = decisions_of(app_id=entry.app_id, name=actor.name)[:UNDO_DEPTH]
    if entry.id not in {one.id for one in last}:
        raise TooLateToUndoError(str(entry.id))
    return lifecycle.retract_outcome(
        entry=entry, actor=actor, reason=masked_words(user_id=entry.user_id, words=reason)
    )


def decisions_of(*, app_id: int, name: str) -> QuerySet[OutcomeEntry]:
    """What somebody decided in the last hour, newest first, taken back or not."""
    return OutcomeEntry.objects.filter(
        app_id=app_id,
        stated_by=name[:200],
        source__in=REVIEW_SOURCES,
        retracts__isnull=True,
        at__gt=clock.now() - UNDO_WITHIN,
    ).order_by("-at", "-id")


def _decide(
    episode: Episode,
    outcome: str,
    source: OutcomeSource,
    *,
    reason: str,
    seen: Seen,
    actor: Actor,
    evidence: dict[str, str],
) -> OutcomeEntry:
    said = kept_words(app_id=episode.app_id, user_id=episode.user_id, words=reason)
    # held until the statement is committed: nobody slips in between the look and the word
    head = lock_head(app_id=episode.app_id, episode_id=episode.id)
    if head.state != State.COMPLETED:
        raise NotCompletedError(str(head.id))
    since = list(
        OutcomeEntry.objects.filter(
            app_id=head.app_id, episode_id=head.id, seq__gt=seen.n_entries
        ).order_by("seq")
    )
    if (
        head.revision == seen.revision
        and len(since) == 1
        and _repeats(since[0], outcome, source, said, actor)
    ):
        return since[0]
    if since or head.revision != seen.revision:
        raise ChangedMeanwhileError(
            since, head.revision if head.revision != seen.revision else None
        )
    return lifecycle.state_outcome(
        episode=head,
        statement=Statement(
            outcome, source, revision=head.revision, reason=said, evidence=evidence
        ),
        actor=actor,
    )


def _repeats(
    entry: OutcomeEntry, outcome: str, source: OutcomeSource, reason: str, actor: Actor
) -> bool:
    """A button pressed twice, or a page sent again."""
    return (entry.outcome, entry.source, entry.reason, entry.stated_by) == (
        outcome,
        source,
        reason,
        actor.name,
    )
