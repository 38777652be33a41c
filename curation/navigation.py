"""The left rail: the pages of an app that a person's role opens."""

from __future__ import annotations

from dataclasses import dataclass

from django.urls import reverse

from curation.access import Right, Seat


@dataclass(frozen=True, slots=True)
class Place:
    """`area` is how the names of its addresses begin; `key` is pressed after `g`."""

    area: str
    label: str
    icon: str
    url_name: str
    right: Right
    key: str


@dataclass(frozen=True, slots=True)
class Link:
    place: Place
    url: str
    is_current: bool


PLACES = (
    Place("overview", "Overview", "overview", "curation:overview", Right.READ, "o"),
    Place("queue", "Queue", "queue", "curation:queue", Right.READ, "q"),
    Place("episode", "Episodes", "episodes", "curation:episode-list", Right.READ, "e"),
    Place("poison", "Poison", "flag", "curation:poison", Right.SEE_REACH, "p"),
    Place("recall", "Recalls", "recalls", "curation:recall-list", Right.SEE_RECALLS, "r"),
    Place("incident", "Incidents", "incidents", "curation:incident-list", Right.SEE_INCIDENTS, "i"),
    Place("hold", "Holds", "lock", "curation:hold-list", Right.SEE_INCIDENTS, "h"),
    Place("promotion", "Promotion", "promotion", "curation:promotion", Right.READ, "m"),
    Place("erasure", "Erasures", "erasures", "curation:erasure-list", Right.SEE_ERASURES, "x"),
    Place("audit", "Audit", "audit", "curation:audit-list", Right.SEE_AUDIT, "a"),
    Place("settings", "Settings", "settings", "curation:settings", Right.SEE_SETTINGS, "s"),
)


def links_for(seat: Seat, *, current: str) -> list[Link]:
    """`current` is the name of the address that is open."""
    return [
        Link(
            place,
            reverse(place.url_name, kwargs={"app_name": seat.app.name}),
            is_current=current.partition("-")[0] == place.area,
        )
        for place in PLACES
        if seat.may(place.right)
    ]
