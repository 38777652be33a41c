"""What erasures call things, and the sign that goes with each word."""

from __future__ import annotations

from collections.abc import Mapping

from curation.words import Word
from episodes.enums import ErasureStatus

STATES = {
    ErasureStatus.SCHEDULED: Word("Scheduled", "pending", "Hidden already; a worker begins soon."),
    ErasureStatus.RUNNING: Word("Running", "pending", "Rows are being deleted."),
    ErasureStatus.VERIFYING: Word(
        "Verifying", "search", "Everything was deleted and is looked for."
    ),
    ErasureStatus.VERIFIED: Word(
        "Verified", "check", "Nothing is left; the certificate is signed."
    ),
    ErasureStatus.ON_HOLD: Word("On hold", "lock", "A legal hold stands: hidden, and kept."),
    ErasureStatus.FAILED: Word("Failed", "failure", "Something is still found, and stays hidden."),
}
STATE_KINDS = {
    ErasureStatus.VERIFIED: "success",
    ErasureStatus.ON_HOLD: "warning",
    ErasureStatus.FAILED: "danger",
}
# By the stores' names, in words; one that is not here is shown as it is named.
STORES = {
    "alarms": "Alarms",
    "audit_mentions": "Audit texts that name the id",
    "audit_texts": "Audit texts about the subject",
    "blocks": "Blocks",
    "episodes": "Episodes",
    "feedback": "Feedback",
    "flags": "Flags",
    "holds": "Holds that have ended",
    "idempotency": "Idempotency records",
    "incident_events": "Notes and events of incidents",
    "incident_links": "Links of incidents",
    "incidents": "Incidents that started from the subject",
    "lessons": "Sources of consolidated lessons",
    "mentions": "Texts about others that named the subject",
    "outcomes": "Statements about outcomes",
    "pending_embeddings": "Revisions that wait for a vector",
    "precedents": "Promotions that the subject stands behind",
    "recall_hits": "Precedents served to the subject",
    "recalls": "Searches",
    "revisions": "Revisions",
    "servings": "Intervals of serving",
    "shared_episodes": "Episodes of the organisation in the subject's words",
    "vectors": "Vectors",
}


def counted(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return stores with their counts, those with rows first, by their words."""
    named = [(STORES.get(name, name.replace("_", " ")), n) for name, n in counts.items()]
    return sorted(named, key=lambda one: (one[1] == 0, one[0]))
