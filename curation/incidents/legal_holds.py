"""Placing a legal hold on what a person names, and on an incident with all that belongs to it.

What an incident is, and what belongs to it, is known here; episodes/holds.py keeps it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from curation.incidents.sources import UnknownTargetError, find_target
from curation.models import Incident, IncidentLink, LinkKind
from episodes import holds
from episodes.audit import Actor
from episodes.enums import HoldKind
from episodes.holds import Held
from episodes.models import App, Block, Episode, Hold, Recall, RecallHit
from memoryadmin.lib import clock

MOST_COVERED = 10_000  # rows of one kind; an incident that has more is held by its subjects


class TooMuchCoveredError(Exception):
    """More belongs to the incident than one hold lists; hold its subjects instead."""


@transaction.atomic
def place_hold(
    *,
    app: App,
    kind: HoldKind,
    target_id: str,
    reason: str,
    actor: Actor,
    user_id: str | None = None,
    until: datetime | None = None,
) -> Hold:
    """`user_id` tells sessions of one name apart.

    Raises UnknownTargetError, SeveralSubjectsError, TooMuchCoveredError and what
    episodes.holds.place_hold raises.
    """
    covers: Collection[Held] = ()
    if kind == HoldKind.INCIDENT:
        incident = _incident(app, target_id)
        target = Held(kind, incident.user_id, incident_id=incident.id)
        covers = covered_by(incident)
    elif kind == HoldKind.SUBJECT:
        if not target_id:
            raise UnknownTargetError(kind)
        target = Held(kind, target_id)
    else:
        target = _held(app, kind, target_id, user_id)
    return holds.place_hold(
        app=app, target=target, reason=reason, until=until, actor=actor, covers=covers
    )


def is_held(incident: Incident) -> bool:
    """Whether a hold on it stands now."""
    rows = Hold.objects.standing(clock.now()).filter(kind=HoldKind.INCIDENT)
    return rows.filter(app_id=incident.app_id, incident_id=incident.pk).exists()


def hold_what_was_linked(*, incident: Incident, link: IncidentLink, actor: Actor) -> None:
    """What joins an incident that is held is held with it. Belongs into the link's transaction."""
    standing = Hold.objects.filter(
        app_id=incident.app_id, kind=HoldKind.INCIDENT, incident_id=incident.pk, ended_at=None
    )
    if standing.exists():
        covers = _covered(incident.app, [(link.kind, link.target_id, link.user_id)])
        holds.extend_incident_holds(
            app=incident.app, incident_id=incident.pk, covers=covers, actor=actor
        )


def covered_by(incident: Incident) -> list[Held]:
    """Return what belongs to an incident: its source and links, what their runs recalled and wrote,
    and the episodes that they had been given. Raises TooMuchCoveredError."""
    links = IncidentLink.objects.filter(
        app_id=incident.app_id, incident_id=incident.pk, removed_at__isnull=True
    )
    named = [(incident.source_kind, incident.source_id, incident.user_id)]
    named += list(links.values_list("kind", "target_id", "user_id"))
    return _covered(incident.app, named)


def _covered(app: App, named: Iterable[tuple[str, str, str | None]]) -> list[Held]:
    sessions: set[tuple[str, str]] = set()
    recalls: set[UUID] = set()
    episodes: set[UUID] = set()
    changes: set[UUID] = set()
    for kind, target, user_id in named:
        match kind:
            case LinkKind.SESSION if user_id is not None:
                sessions.add((user_id, target))
            case LinkKind.RECALL:
                recalls.add(UUID(target))
            case LinkKind.EPISODE:
                episodes.add(UUID(target))
            case LinkKind.FLAG | LinkKind.CONTAINMENT | LinkKind.BLOCK:
                changes.add(UUID(target))  # the id of the change whose blocks they are
    blocks = Block.objects.filter(app_id=app.pk, change_id__in=changes)
    episodes |= set(blocks.values_list("episode_id", flat=True))
    ran = Q(id__in=recalls)
    of_episodes = Episode.objects.of_app(app).filter(id__in=episodes, user_id__isnull=False)
    sessions |= {
        (user, session)
        for user, session in of_episodes.values_list("user_id", "session_id")
        if user is not None and session is not None
    }
    for user_id, session_id in sessions:
        ran |= Q(user_id=user_id, session_id=session_id)
    asked = list(Recall.objects.filter(ran, app_id=app.pk).values_list("id", "recalled_at"))
    recalls = {one for one, _ in asked}
    hits = RecallHit.objects.filter(
        app_id=app.pk, recalled_at__in={at for _, at in asked}, recall_id__in=recalls
    )
    episodes |= set(hits.values_list("episode_id", flat=True))
    there = Episode.objects.of_app(app).filter(id__in=episodes)
    found = [
        *(Held(HoldKind.SESSION, user, session_id=session) for user, session in sorted(sessions)),
        *(Held(HoldKind.RECALL, recall_id=one) for one in sorted(recalls)),
        *(
            Held(HoldKind.EPISODE, episode_id=one)
            for one in there.order_by("id").values_list("id", flat=True)[: MOST_COVERED + 1]
        ),
    ]
    if len(found) > MOST_COVERED:
        raise TooMuchCoveredError(str(len(found)))
    return found


def _incident(app: App, target_id: str) -> Incident:
    try:
        return Incident.objects.select_related("app").get(app=app, id=UUID(target_id))
    except (ValueError, Incident.DoesNotExist) as error:
        raise UnknownTargetError("incident") from error


def _held(app: App, kind: HoldKind, target_id: str, user_id: str | None) -> Held:
    found = find_target(app=app, kind=kind, target_id=target_id, user_id=user_id)
    match kind:
        case HoldKind.SESSION:
            return Held(kind, found.user_id, session_id=found.id)
        case HoldKind.RECALL:
            return Held(kind, found.user_id, recall_id=UUID(found.id))
        case _:
            return Held(kind, found.user_id, episode_id=UUID(found.id))
