"""Poison: an episode that harms whoever relies on it, flagged by a person; and what it reached.

Flagging blocks in the same transaction, under the flag's own id, and with it what was published of
the episode for everybody; apps that took that over are asked to look. The closure, everything that the
episode influenced, is blocked after a preview, under an id of its own. Each is lifted by its own id,
so that overlapping flags, closures and holds never lift one another.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from django.db import models, transaction
from django.db.models import F, Q
from django.db.models.functions import Greatest

from curation.alarms.closing import close_alarm
from curation.models import Alarm, AlarmEnd, Containment, Extent, Flag, FlagReason, FoundIn
from curation.promotion.copies import copies_of, tell_of_flagged
from curation.saying import kept_words
from episodes import audit, lifecycle
from episodes.audit import Actor
from episodes.enums import BlockKind
from episodes.lifecycle import lock_head
from episodes.models import Block, Episode
from episodes.reach import Reach, ReachedEpisode, read_reach
from memoryadmin.lib import clock, ids

Liftable = TypeVar("Liftable", Flag, Containment)


class AlreadyLiftedError(Exception):
    """Somebody lifted it before, or it was lifted while its closure was looked at."""


class ReachChangedError(Exception):
    """The reach is another one than the preview showed; nothing was blocked."""

    def __init__(self, closure: Closure) -> None:
        super().__init__(closure.digest)
        self.closure = closure


class NothingToBlockError(Exception):
    """Nothing was chosen, or all of it is blocked by this flag already."""


class NotReachedError(Exception):
    """An episode was chosen that the flagged one did not reach."""


@dataclass(frozen=True, slots=True)
class Found:
    """Where somebody stood when they flagged: `id` of the recall, incident or alarm."""

    place: FoundIn = FoundIn.EPISODE
    id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """What of a closure is to be blocked: all of it, up to a depth, or these episodes."""

    depth: int | None = None
    episode_ids: frozenset[UUID] | None = None

    @property
    def extent(self) -> Extent:
        if self.episode_ids is not None:
            return Extent.PART
        return Extent.ALL if self.depth is None else Extent.DEPTH


@dataclass(frozen=True, slots=True)
class Closure:
    """The reach of a flagged episode and of its copies, and how much of it is out of recall.

    `copies`: what was published of the flagged episode, or of one that it reached, for everybody;
    they are followed like the flagged one, from depth 0. `contained`: blocked by this flag or a
    closure of it. `blocked`: by anything at all.
    """

    flagged: UUID
    reach: Reach
    copies: frozenset[UUID]
    contained: frozenset[UUID]

    @property
    def affected(self) -> Sequence[ReachedEpisode]:
        """What can be blocked: every copy and every influenced episode that is still there."""
        return [
            node for node in self.reach.nodes if node.episode_id != self.flagged and node.exists
        ]

    @property
    def written(self) -> Sequence[ReachedEpisode]:
        """The episodes among them that sessions wrote after they were given something of it."""
        return [node for node in self.affected if node.episode_id not in self.copies]

    @property
    def open(self) -> Sequence[ReachedEpisode]:
        """What this flag does not keep out of recall yet."""
        return [node for node in self.affected if node.episode_id not in self.contained]

    @property
    def kept_out(self) -> Sequence[ReachedEpisode]:
        """What this flag and its closures do keep out of recall, the flagged one left out."""
        return [node for node in self.affected if node.episode_id in self.contained]

    @property
    def blocked(self) -> Sequence[ReachedEpisode]:
        return [node for node in self.affected if node.recall_state == "blocked"]

    @property
    def digest(self) -> str:
        """Stands for what was seen: the same episodes at the same depths."""
        seen = sorted(f"{node.episode_id}:{node.depth}" for node in self.affected)
        return hashlib.sha256("\n".join(seen).encode()).hexdigest()


@transaction.atomic
def flag_episode(
    *,
    episode: Episode,
    reason: FlagReason,
    note: str,
    actor: Actor,
    found: Found | None = None,
) -> Flag:
    """Flag the episode and take it out of recall. The same flag sent twice is one.

    Raises NothingKeptError, SubjectErasedError, Episode.DoesNotExist.
    """
    said = kept_words(app_id=episode.app_id, user_id=episode.user_id, words=note)
    found = found or Found()
    head = lock_head(app_id=episode.app_id, episode_id=episode.id)
    told: dict[str, Any] = {
        "reason": reason,
        "note": said,
        "found_in": found.place,
        "found_id": found.id,
        "flagged_by": actor.name,
    }
    repeated = Flag.objects.filter(
        app=head.app, episode_id=head.id, revision=head.revision, lifted_at__isnull=True, **told
    ).first()
    if repeated is not None:
        return repeated
    flag = Flag.objects.create(
        app=head.app, episode_id=head.id, user_id=head.user_id, revision=head.revision, **told
    )
    lifecycle.block_episode(
        episode=head, kind=BlockKind.QUARANTINE, change_id=flag.id, reason=reason, actor=actor
    )
    copies = copies_of(app_id=head.app_id, episode_ids=[head.id])
    lifecycle.block_episodes(
        app=head.app,
        episode_ids=copies,
        kind=BlockKind.QUARANTINE,
        change_id=flag.id,
        reason=reason,
        actor=actor,
    )
    tell_of_flagged(app_id=head.app_id, org_episode_ids=[head.id, *copies])
    _record(flag, "flag.raised", said, actor, episode=str(head.id), code=reason, copies=len(copies))
    return flag


@transaction.atomic
def flag_alarmed(*, alarm: Alarm, reason: FlagReason, note: str, actor: Actor) -> Flag:
    """Flag the episode that the alarm is about, which takes it out of recall, and close the alarm.

    Raises AlreadyClosedError, and what flag_episode raises.
    """
    flag = flag_episode(
        episode=Episode.objects.get(app_id=alarm.app_id, id=alarm.episode_id),
        reason=reason,
        note=note,
        actor=actor,
        found=Found(FoundIn.ALARM, alarm.id),
    )
    close_alarm(alarm=alarm, ending=AlarmEnd.FLAGGED, said=flag.note, actor=actor)
    return flag


@transaction.atomic
def lift_flag(*, flag: Flag, reason: str, actor: Actor) -> Flag:
    """Take a flag back; the blocks of others, and of its closures, stay.

    Raises AlreadyLiftedError, NothingKeptError, SubjectErasedError.
    """
    return _lift(flag, "flag.lifted", reason, actor)


def read_closure(*, flag: Flag) -> Closure:
    """Return what the flagged episode and its copies reached up to now. Four queries, and two more
    each time that something reached was published, too."""
    copies: frozenset[UUID] = copies_of(app_id=flag.app_id, episode_ids=[flag.episode_id])
    while True:
        reach = read_reach(
            app_id=flag.app_id,
            roots=[flag.episode_id, *sorted(copies)],
            cutoffs=flag.app.cutoffs,
        )
        reached = [node.episode_id for node in reach.nodes]
        further = copies_of(app_id=flag.app_id, episode_ids=reached) - copies
        if not further:
            return Closure(flag.episode_id, reach, copies, _contained(flag))
        copies |= further


def _contained(flag: Flag) -> frozenset[UUID]:
    """One query: what the flag's own change and its standing closures block."""
    closures = Containment.objects.filter(app_id=flag.app_id, flag=flag, lifted_at__isnull=True)
    return frozenset(
        Block.objects.filter(
            Q(change_id=flag.id) | Q(change_id__in=closures.values("id")),
            app_id=flag.app_id,
            closed_at__isnull=True,
        ).values_list("episode_id", flat=True)
    )


@transaction.atomic
def block_closure(
    *, flag: Flag, choice: Choice, seen: str, reason: str, actor: Actor
) -> Containment:
    """Take what the flagged episode reached out of recall, as one change.

    `seen` is the digest of the previewed closure. Raises ReachChangedError when the reach is not
    that any more, AlreadyLiftedError, NotReachedError, NothingToBlockError, NothingKeptError,
    SubjectErasedError.
    """
    said = kept_words(app_id=flag.app_id, user_id=flag.user_id, words=reason)
    # a flag that is being lifted, or another closure of it, is waited for
    # the app's row stays unlocked: every insert's foreign key asks for it
    waiting = Flag.objects.select_for_update(no_key=True, of=("self",)).select_related("app")
    flag = waiting.get(id=flag.id, app_id=flag.app_id)
    if not flag.stands:
        raise AlreadyLiftedError(str(flag.id))
    closure = read_closure(flag=flag)
    if closure.digest != seen:
        raise ReachChangedError(closure)
    chosen = _chosen(closure, choice)
    change = ids.new_id()
    blocked = lifecycle.block_episodes(
        app=flag.app,
        episode_ids=chosen,
        kind=BlockKind.QUARANTINE,
        change_id=change,
        reason=flag.reason,
        actor=actor,
    )
    if not blocked:
        raise NothingToBlockError(str(flag.id))
    tell_of_flagged(app_id=flag.app_id, org_episode_ids=blocked)
    containment = Containment.objects.create(
        id=change,
        app=flag.app,
        flag=flag,
        user_id=flag.user_id,
        extent=choice.extent,
        depth=choice.depth,
        n_reached=len(closure.affected),
        n_blocked=len(blocked),
        seen=seen,
        reason=said,
        blocked_by=actor.name,
    )
    _record(containment, "closure.blocked", said, actor, flag=str(flag.id), blocked=len(blocked))
    return containment


@transaction.atomic
def lift_closure(*, containment: Containment, reason: str, actor: Actor) -> Containment:
    """Let a blocked closure be recalled again, but for what others block.

    Raises AlreadyLiftedError, NothingKeptError, SubjectErasedError.
    """
    return _lift(containment, "closure.lifted", reason, actor)


def _chosen(closure: Closure, choice: Choice) -> Iterable[UUID]:
    reached = {node.episode_id for node in closure.affected}
    if choice.episode_ids is not None and not choice.episode_ids <= reached:
        raise NotReachedError(str(len(choice.episode_ids - reached)))
    chosen = [
        node.episode_id
        for node in closure.open
        if (choice.depth is None or node.depth <= choice.depth)
        and (choice.episode_ids is None or node.episode_id in choice.episode_ids)
    ]
    if not chosen:
        raise NothingToBlockError(str(len(reached)))
    return chosen


def _lift(change: Liftable, verb: str, reason: str, actor: Actor) -> Liftable:
    """The row is closed first and conditionally: of two people who lift, one is told."""
    said = kept_words(app_id=change.app_id, user_id=change.user_id, words=reason)
    model: type[Liftable] = type(change)
    began = "flagged_at" if isinstance(change, Flag) else "blocked_at"
    standing: models.QuerySet[Liftable] = model._default_manager.filter(
        id=change.id, app_id=change.app_id, lifted_at__isnull=True
    )
    # hosts' clocks differ, and nothing is lifted before it began
    lifted_at = Greatest(clock.now(), F(began))
    if not standing.update(lifted_at=lifted_at, lifted_by=actor.name, lift_reason=said):
        raise AlreadyLiftedError(str(change.id))
    lifted = lifecycle.lift_change(app=change.app, change_id=change.id, reason=said, actor=actor)
    change.refresh_from_db()
    _record(change, verb, said, actor, lifted=len(lifted))
    return change


def _record(change: Flag | Containment, verb: str, reason: str, actor: Actor, **after: Any) -> None:
    audit.record(
        actor=actor,
        verb=verb,
        target_kind="flag" if isinstance(change, Flag) else "closure",
        target_id=change.id,
        app=change.app,
        user_id=change.user_id,
        reason=reason,
        after=after,
    )
