"""What incidents call things, and the sign that goes with each word."""

from __future__ import annotations

from curation.models import EventKind, IncidentState, LinkKind, Severity, SourceKind
from curation.words import Word

STATES = {
    IncidentState.OPEN: Word("Open", "warning", "It is being looked into."),
    IncidentState.CONTAINED: Word("Contained", "blocked", "It spreads no further."),
    IncidentState.CLOSED: Word("Closed", "check", "Nothing is left to do."),
}
STATE_KINDS = {
    IncidentState.OPEN: "danger",
    IncidentState.CONTAINED: "warning",
    IncidentState.CLOSED: "success",
}
SEVERITIES = {
    Severity.LOW: Word("Low", "down", "Nobody came to harm."),
    Severity.MEDIUM: Word("Medium", "neutral", "Somebody has to put something right."),
    Severity.HIGH: Word("High", "flag", "People or money came to harm, or may still."),
}
SOURCES = {
    SourceKind.SESSION: "a session",
    SourceKind.RECALL: "a recall",
    SourceKind.EPISODE: "an episode",
    SourceKind.DESCRIPTION: "a description",
}
LINKS = {
    LinkKind.SESSION: Word("Session", "speech"),
    LinkKind.RECALL: Word("Recall", "recalls"),
    LinkKind.EPISODE: Word("Episode", "episodes"),
    LinkKind.FLAG: Word("Flag", "flag"),
    LinkKind.CONTAINMENT: Word("Containment", "blocked"),
    LinkKind.BLOCK: Word("Block", "blocked"),
}
EVENTS = {
    EventKind.OPENED: Word("Incident opened", "warning"),
    EventKind.NOTE: Word("Note", "speech"),
    EventKind.STATE: Word("State changed", "changed"),
    EventKind.ASSIGNED: Word("Person put on it", "person"),
    EventKind.UNASSIGNED: Word("Person taken off", "person"),
    EventKind.LINKED: Word("Linked", "link"),
    EventKind.UNLINKED: Word("Link taken off", "close"),
    EventKind.EXPORTED: Word("Evidence exported", "lock"),
    EventKind.TOLD: Word("Owner told", "speech"),
}
# Why a search would not have returned an episode, beside what ranking and caps say
# (recall_words.EXCLUSIONS).
ABSENCES = {
    "blocked": "Kept out of recall by a block",
    "absent": "Not there: not completed, expired, or nothing in common with the query",
}
