"""What legal holds call things, and the sign that goes with each word."""

from __future__ import annotations

from curation.words import Word
from episodes.enums import HoldKind

KINDS = {
    HoldKind.SUBJECT: Word("Subject", "person", "Everything of one subject, now and later."),
    HoldKind.SESSION: Word("Session", "speech", "What one session wrote, asked and was told."),
    HoldKind.EPISODE: Word("Episode", "episodes", "One episode with all its revisions."),
    HoldKind.RECALL: Word("Recall", "recalls", "One search, with what it was given."),
    HoldKind.INCIDENT: Word(
        "Incident",
        "incidents",
        "The sessions, recalls and episodes that belong to it, also those linked later.",
    ),
}
