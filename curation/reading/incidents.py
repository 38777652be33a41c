"""The incidents of an app, and one of them with what was done in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from curation.lists.paging import Page, read_page
from curation.models import Incident, IncidentEvent, IncidentLink, IncidentPerson, LinkKind
from episodes.models import Member
from memoryadmin.lib.cursors import Cursor


@dataclass(frozen=True, slots=True)
class Listed:
    incident: Incident
    people: Sequence[str]


@dataclass(frozen=True, slots=True)
class IncidentPage:
    incident: Incident
    events: Sequence[IncidentEvent]
    people: Sequence[IncidentPerson]
    links: Sequence[IncidentLink]

    @property
    def roots(self) -> Roots:
        """What it started from and what was linked to it since."""
        named = [(self.incident.source_kind, self.incident.source_id, self.incident.user_id)]
        named += [(link.kind, link.target_id, link.user_id) for link in self.links]
        sessions = {
            (user, name): None for kind, name, user in named if user and kind == LinkKind.SESSION
        }
        recalls = {UUID(name): None for kind, name, _ in named if kind == LinkKind.RECALL}
        episodes = {UUID(name): None for kind, name, _ in named if kind == LinkKind.EPISODE}
        return Roots(list(sessions), list(recalls), list(episodes))


@dataclass(frozen=True, slots=True)
class Roots:
    """`sessions`: (user_id, session_id)."""

    sessions: Sequence[tuple[str, str]]
    recalls: Sequence[UUID]
    episodes: Sequence[UUID]


def list_incidents(*, member: Member, state: str, cursor: Cursor | None) -> Page[Listed]:
    """Newest first; two queries. `state` empty: all."""
    rows = Incident.objects.filter(app_id=member.app_id)
    page = read_page(rows.filter(state=state) if state else rows, by="opened_at", cursor=cursor)
    people: dict[UUID, list[str]] = {}
    for incident_id, name in (
        IncidentPerson.objects.filter(
            app_id=member.app_id,
            incident_id__in=[incident.id for incident in page.rows],
            removed_at__isnull=True,
        )
        .order_by("added_at", "id")
        .values_list("incident_id", "name")
    ):
        people.setdefault(incident_id, []).append(name)
    listed = [Listed(incident, people.get(incident.id, [])) for incident in page.rows]
    return Page(listed, page.newer, page.older)


def read_incident(*, member: Member, incident_id: UUID) -> IncidentPage | None:
    """Return an incident of the app, or None. Four queries."""
    incident = (
        Incident.objects.filter(app_id=member.app_id, id=incident_id).select_related("app").first()
    )
    if incident is None:
        return None
    of_it = {"app_id": member.app_id, "incident_id": incident.id}
    return IncidentPage(
        incident=incident,
        events=list(IncidentEvent.objects.filter(**of_it).order_by("at", "id")),
        people=list(
            IncidentPerson.objects.filter(**of_it, removed_at=None).order_by("added_at", "id")
        ),
        links=list(
            IncidentLink.objects.filter(**of_it, removed_at=None).order_by("added_at", "id")
        ),
    )
