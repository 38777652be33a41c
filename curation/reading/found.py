"""Where a flag was raised: read out of the address that led to the form, if it is there."""

from __future__ import annotations

from uuid import UUID

from django.db import models

from curation.models import Alarm, FoundIn, Incident
from curation.poison.flagging import Found
from episodes.models import Member, Recall

_PLACES: dict[FoundIn, type[models.Model]] = {
    FoundIn.RECALL: Recall,
    FoundIn.INCIDENT: Incident,
    FoundIn.ALARM: Alarm,
}


def find_place(*, member: Member, text: str) -> Found | None:
    """Return the place that `recall:<id>` names; None when the app has no such thing. One query.

    An empty text is the episode's own page.
    """
    if not text:
        return Found()
    kind, _, named = text.partition(":")
    if kind not in {place.value for place in _PLACES}:
        return None
    try:
        found = UUID(named)
    except ValueError:
        return None
    place = FoundIn(kind)
    rows = _PLACES[place]._default_manager.filter(app_id=member.app_id, id=found)
    return Found(place, found) if rows.exists() else None
