"""The episode that a precedent is made of: whether it may be, and what is known of its subject."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from django.db import connection

from curation.anonymise import Known
from curation.promotion.draft import Draft, as_text
from curation.promotion.refusals import NotEligibleError
from episodes.effective import REVIEW_SOURCES
from episodes.enums import Outcome, RecallState, ReviewState, Scope, State
from episodes.models import App, Episode, EpisodeRevision
from episodes.publication import monday_of

# The subject's newest episodes, out of which its own values are taken.
_EPISODES = 200
_VALUES = 2_000
_SHORTEST_VALUE = 4
_PLACEHOLDER = re.compile(r"<[A-Z]+>")  # of the masker: the word in it is nobody's


def demand_eligible(head: Episode, *, as_warning: bool) -> None:
    """Raise NotEligibleError unless a person has judged what is served, and nothing speaks against
    sharing it: a success, or as a warning a failure."""
    wanted = Outcome.FAILURE if as_warning else Outcome.SUCCESS
    for is_so, why in (
        (head.scope != Scope.USER, "shared"),
        (head.state != State.COMPLETED, "open"),
        (_has_expired(head), "expired"),
        (head.recall_state != RecallState.RECALLABLE, "blocked"),
        (head.review_state == ReviewState.CHANGED_AFTER_REVIEW, "changed"),
        (not _is_reviewed(head), "unreviewed"),
        (head.contradicted, "contradicted"),
        (head.outcome != wanted, "not_a_failure" if as_warning else "not_a_success"),
    ):
        if is_so:
            raise NotEligibleError(why)


def is_candidate(head: Episode, *, app: App) -> bool:
    """Whether it may be proposed, as a success or as a warning. `app` is the episode's."""
    head.app = app
    try:
        demand_eligible(head, as_warning=head.outcome == Outcome.FAILURE)
    except NotEligibleError:
        return False
    return True


def served_revision(head: Episode) -> EpisodeRevision:
    return EpisodeRevision.objects.get(pk=(head.app_id, head.id, head.revision))


def draft_of(revision: EpisodeRevision) -> Draft:
    """Return the source's own texts, not yet anonymised."""
    return Draft(
        goal=revision.goal,
        steps=list(revision.steps),
        resolution=revision.resolution,
        lesson=revision.lesson,
        lesson_source=revision.lesson_source,
        issue_type=revision.issue_type,
        agent_id=revision.agent_id,
        toolset_version=revision.toolset_version,
        toolset_kind=revision.toolset_kind,
    )


def week_of(head: Episode) -> date:
    """Return the Monday of the week in which it ended."""
    if head.completed_at is None:
        raise NotEligibleError("open")
    return monday_of(head.completed_at.date())


def known_of(*, app: App, user_id: str, k: int) -> Known:
    """Return the subject's ids, and the values in its episodes that fewer than k subjects have.

    Two queries.
    """
    ids = {user_id}
    values: set[str] = set()
    newest = Episode.objects.of_app(app).of_subject(user_id).order_by("-received_at", "-id")
    for named in newest.values_list("session_id", "episode_key")[:_EPISODES]:
        ids |= {text for text in named if text}
    revisions = EpisodeRevision.objects.filter(app=app, user_id=user_id).order_by("-written_at")
    for task_id, steps in revisions.values_list("task_id", "steps")[:_EPISODES]:
        ids |= {task_id} - {""}
        for step in steps:
            values.update(_telling_values(step))
    return Known(frozenset(ids) | _own(app, sorted(values)[:_VALUES], k))


def _telling_values(step: Mapping[str, Any]) -> Iterator[str]:
    """Argument values that may name a thing or a person; switches and small numbers do not."""
    for value in step.get("arguments", {}).values():
        for one in value if isinstance(value, list) else (value,):
            text = _PLACEHOLDER.sub(" ", as_text(one)).strip()
            if not isinstance(one, bool) and len(text) >= _SHORTEST_VALUE:
                yield text


def _own(app: App, values: list[str], k: int) -> frozenset[str]:
    """A value that k subjects use is a word of the trade, like a plan or a currency."""
    if not values:
        return frozenset()
    with connection.cursor() as cursor:
        cursor.execute(_SHARED, {"app": app.pk, "values": values, "k": k})
        shared = {value for (value,) in cursor.fetchall()}
    return frozenset(values) - shared


_SHARED = """
SELECT value FROM unnest(%(values)s::text[]) value CROSS JOIN LATERAL (
    SELECT count(*) AS n FROM (
        SELECT DISTINCT r.user_id FROM episodes_episoderevision r
        WHERE r.app_id = %(app)s AND r.user_id IS NOT NULL
            AND r.identifiers @> ARRAY[lower(value)]::varchar[]
        LIMIT %(k)s) users) counted
WHERE counted.n >= %(k)s
"""


def _is_reviewed(head: Episode) -> bool:
    return head.review_state == ReviewState.REVIEWED and head.outcome_source in REVIEW_SOURCES


def _has_expired(head: Episode) -> bool:
    return head.app.cutoffs.has_expired(head)
