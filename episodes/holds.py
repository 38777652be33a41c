"""Legal holds: while one stands, nothing under it expires or is erased.

Placed on a subject, one of its sessions, an episode, a recall, or an incident with all that belongs
to it. What is held is deleted by nobody; whether agents are still given it is another question,
which retention, blocks and tombstones answer as if there were no hold.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Case, F, Q, Value, When
from django.db.models.functions import Greatest

from episodes import audit
from episodes.audit import Actor
from episodes.enums import HoldKind
from episodes.exceptions import SubjectErasedError
from episodes.ingest.storable import Storable
from episodes.models import App, Episode, Feedback, Hold, Recall, Tombstone
from episodes.tombstones import subject_hash
from memoryadmin.lib import clock, ids

REASON_LENGTH = 1_000
_LOCK = 7_051  # with the app's id: who places holds against who deletes

# Whether a row is held, as conditions on an episode `h`, a recall `r` and feedback `f`; %(now)s.
STANDING = "k.ended_at IS NULL AND (k.until IS NULL OR k.until > %(now)s)"


def _held(row: str, *, by_id: str) -> str:
    return f"""(
        EXISTS (SELECT FROM episodes_hold k WHERE k.app_id = {row}.app_id
            AND k.user_id = {row}.user_id AND {STANDING}
            AND (k.kind = 'subject' OR k.kind = 'session' AND k.session_id = {row}.session_id))
        {by_id})"""


def _by_id(row: str, column: str) -> str:
    return f"""OR EXISTS (SELECT FROM episodes_hold k
            WHERE k.app_id = {row}.app_id AND k.{column} = {row}.id AND {STANDING})"""


EPISODE_IS_HELD = _held("h", by_id=_by_id("h", "episode_id"))
RECALL_IS_HELD = _held("r", by_id=_by_id("r", "recall_id"))
FEEDBACK_IS_HELD = _held("f", by_id="")


class HoldReasonMissingError(ValueError):
    """Placing or lifting a hold takes a reason."""


class HoldEndsBeforeItBeginsError(ValueError):
    """The end of a hold lies ahead."""


class AlreadyLiftedError(Exception):
    """The hold was lifted before, or its time was up."""


class NothingToHoldError(Exception):
    """The app has no such episode or recall."""


class HeldError(Exception):
    """Something that was to be deleted is under a hold."""


@dataclass(frozen=True, slots=True)
class Held:
    """What a hold is placed on. `user_id` of an episode or recall is looked up."""

    kind: HoldKind
    user_id: str | None = None
    session_id: str | None = None
    episode_id: UUID | None = None
    recall_id: UUID | None = None
    incident_id: UUID | None = None


@transaction.atomic
def place_hold(
    *,
    app: App,
    target: Held,
    reason: str,
    actor: Actor,
    until: datetime | None = None,
    covers: Collection[Held] = (),
) -> Hold:
    """Place a hold. `covers`: what belongs to the incident, if it is one.

    A batch that is deleting now is waited for; none after it deletes what is held. Raises
    HoldReasonMissingError, HoldEndsBeforeItBeginsError, NothingToHoldError, SubjectErasedError.
    """
    now = clock.now()
    _lock(app.pk, shared=False)
    [known] = _known(app, [target])
    said = Storable(known.user_id).text(reason, limit=REASON_LENGTH)
    if not said:
        raise HoldReasonMissingError
    if until is not None and until <= now:
        raise HoldEndsBeforeItBeginsError
    if known.user_id is not None:
        _refuse_gone(app, known.user_id)
    head_id = ids.new_id()
    head = _row(app, known, hold_id=head_id, until=until, now=now, actor=actor)
    head.id, head.reason = head_id, said
    head.save(force_insert=True)
    _cover(head, covers, actor=actor)
    audit.record(
        actor=actor,
        verb="hold.placed",
        target_kind="hold",
        target_id=head.pk,
        app=app,
        user_id=known.user_id,
        reason=said,
        after={"kind": known.kind, "until": until.isoformat() if until else None},
    )
    return head


@transaction.atomic
def lift_hold(*, hold: Hold, reason: str, actor: Actor) -> None:
    """Lift a hold with everything that it covers. Raises HoldReasonMissingError, AlreadyLiftedError."""
    said = Storable(hold.user_id).text(reason, limit=REASON_LENGTH)
    if not said:
        raise HoldReasonMissingError
    now = clock.now()
    _lock(hold.app_id, shared=False)
    rows = Hold.objects.standing(now).filter(app_id=hold.app_id, hold_id=hold.hold_id)
    lifted = rows.update(
        ended_at=Greatest(now, F("placed_at")),
        ended_by=actor.name,
        # what was written of it stands in one row alone
        end_reason=Case(When(id=F("hold_id"), then=Value(said)), default=Value("")),
    )
    if not lifted:
        raise AlreadyLiftedError
    audit.record(
        actor=actor,
        verb="hold.lifted",
        target_kind="hold",
        target_id=hold.hold_id,
        app=hold.app,
        user_id=hold.user_id,
        reason=said,
        after={"kind": hold.kind, "rows": lifted},
    )


@transaction.atomic
def extend_incident_holds(
    *, app: App, incident_id: UUID, covers: Collection[Held], actor: Actor
) -> int:
    """Hold what was linked to an incident that is held; return how many rows were added."""
    heads = Hold.objects.standing(clock.now()).heads()
    standing = list(heads.filter(app=app, kind=HoldKind.INCIDENT, incident_id=incident_id))
    if not standing:
        return 0
    _lock(app.pk, shared=False)
    return sum(_cover(head, covers, actor=actor) for head in standing)


def holds_of_episode(*, episode: Episode) -> list[Hold]:
    """Return the standing rows that hold an episode, oldest first."""
    named = Q(episode_id=episode.pk)
    if episode.user_id is not None:
        of_subject = Q(kind=HoldKind.SUBJECT)
        of_subject |= Q(kind=HoldKind.SESSION, session_id=episode.session_id)
        named |= Q(user_id=episode.user_id) & of_subject
    rows = Hold.objects.standing(clock.now()).filter(named, app_id=episode.app_id)
    return list(rows.order_by("placed_at", "id"))


def keep_holds_still(*, app_id: int) -> None:
    """Let no hold be placed until the end of this transaction. Belongs before a batch is chosen:
    the statement that chooses then sees every hold that was acknowledged."""
    _lock(app_id, shared=True)


def _lock(app_id: int, *, shared: bool) -> None:
    name = "pg_advisory_xact_lock_shared" if shared else "pg_advisory_xact_lock"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {name}(%s, %s)", [_LOCK, app_id])


def _known(app: App, wanted: Sequence[Held]) -> list[Held]:
    """Return them with their subjects. Raises NothingToHoldError."""
    episodes = _subjects(app, Episode, {one.episode_id for one in wanted if one.episode_id})
    recalls = _subjects(app, Recall, {one.recall_id for one in wanted if one.recall_id})
    found = []
    for one in wanted:
        known = recalls if one.kind == HoldKind.RECALL else episodes
        named = one.recall_id if one.kind == HoldKind.RECALL else one.episode_id
        if named is None:
            found.append(one)
        elif named not in known:
            raise NothingToHoldError(one.kind)
        else:
            found.append(
                Held(one.kind, known[named], episode_id=one.episode_id, recall_id=one.recall_id)
            )
    return found


def _subjects(
    app: App, model: type[Episode] | type[Recall], wanted: Collection[UUID]
) -> dict[UUID, str | None]:
    if not wanted:
        return {}
    rows = model._default_manager.filter(app_id=app.pk, id__in=wanted)
    return dict(rows.values_list("id", "user_id"))


def _refuse_gone(app: App, user_id: str) -> None:
    """An erased subject has nothing to hold, and its id is not written down again. One that is
    being erased may be held: what is left of it stays."""
    hashed = subject_hash(app_id=app.pk, user_id=user_id)
    erased = Tombstone.objects.standing().filter(app=app, subject_hash=hashed)
    if not erased.exists():
        return
    stores = (Episode.objects.all(), Recall.objects.all(), Feedback.objects.all())
    if not any(rows.filter(app_id=app.pk, user_id=user_id).exists() for rows in stores):
        raise SubjectErasedError


def _cover(head: Hold, covers: Collection[Held], *, actor: Actor) -> int:
    """Hold what belongs to a hold's incident, unless it does already."""
    there = set(
        Hold.objects.filter(
            app_id=head.app_id, hold_id=head.hold_id, ended_at__isnull=True
        ).values_list("kind", "user_id", "session_id", "episode_id", "recall_id")
    )
    rows = []
    for one in dict.fromkeys(_known(head.app, list(covers))):
        named = (str(one.kind), one.user_id, one.session_id, one.episode_id, one.recall_id)
        if named not in there:
            row = _row(
                head.app, one, hold_id=head.pk, until=head.until, now=clock.now(), actor=actor
            )
            row.incident_id = head.incident_id
            rows.append(row)
    Hold.objects.bulk_create(rows, batch_size=1_000)
    return len(rows)


def _row(
    app: App, target: Held, *, hold_id: UUID, until: datetime | None, now: datetime, actor: Actor
) -> Hold:
    return Hold(
        app=app,
        hold_id=hold_id,
        kind=target.kind,
        user_id=target.user_id,
        session_id=target.session_id,
        episode_id=target.episode_id,
        recall_id=target.recall_id,
        incident_id=target.incident_id,
        placed_at=now,
        placed_by=actor.name,
        until=until,
    )
