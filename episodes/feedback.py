"""What users say about a session. Evidence for a reviewer; it decides nothing by itself."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction

from episodes import audit
from episodes.audit import Actor
from episodes.ingest.parsed import ParsedFeedback
from episodes.ingest.storable import Storable
from episodes.models import App, Feedback
from episodes.tombstones import refuse_erased
from memoryadmin.lib import clock

COMMENT_LENGTH = 8_000


@transaction.atomic
def record_feedback(
    *,
    app: App,
    user_id: str,
    session_id: str,
    rating: str,
    actor: Actor,
    comment: str = "",
    source: str = "",
    feedback_id: str | None = None,
    at: datetime | None = None,
) -> tuple[Feedback, bool]:
    """Store feedback on a session, known or not; return it and whether it is new.

    The same `feedback_id` of a subject again changes nothing. Raises SubjectErasedError.
    """
    refuse_erased(app_id=app.id, user_id=user_id)
    now = clock.now()
    storable = Storable(user_id)
    feedback = Feedback(
        app=app,
        user_id=user_id,
        session_id=session_id,
        feedback_id=feedback_id,
        rating=rating,
        comment=storable.text(comment, limit=COMMENT_LENGTH),
        source=storable.value(source),
        at=min(at or now, now),
        received_at=now,
        written_by=actor.name,
        key_prefix=actor.key_prefix,
        route=actor.route,
        address_hash=actor.address_hash,
    )
    # the unique constraint decides between two that arrive together
    Feedback.objects.bulk_create([feedback], ignore_conflicts=feedback_id is not None)
    if feedback_id is not None:
        stored = Feedback.objects.get(app=app, user_id=user_id, feedback_id=feedback_id)
        if stored.id != feedback.id:
            return stored, False
    audit.record(
        actor=actor,
        verb="feedback.received",
        target_kind="feedback",
        target_id=feedback.id,
        app=app,
        user_id=user_id,
        after={"session_id": session_id, "rating": rating},
    )
    return feedback, True


@transaction.atomic
def take_feedback(
    *, app: App, user_id: str, session_id: str, told: Iterable[ParsedFeedback], actor: Actor
) -> int:
    """Store what an export tells of a session's feedback and nobody knows here; return how much.

    One without an id is known by all that it says. Raises SubjectErasedError.
    """
    storable = Storable(user_id)
    stored = 0
    for one in told:
        said = {
            "rating": one.rating,
            "comment": storable.text(one.comment, limit=COMMENT_LENGTH),
            "source": storable.value(one.source),
        }
        of_session = Feedback.objects.filter(app=app, user_id=user_id, session_id=session_id)
        at = {} if one.at is None else {"at": one.at}
        if one.feedback_id is None and of_session.filter(**said, **at).exists():
            continue
        _, is_new = record_feedback(
            app=app,
            user_id=user_id,
            session_id=session_id,
            feedback_id=one.feedback_id,
            at=one.at,
            actor=actor,
            **said,
        )
        stored += is_new
    return stored
