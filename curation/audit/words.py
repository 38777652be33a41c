"""What the audit calls things that were acted on, and the sign that goes with each word."""

from __future__ import annotations

from curation.words import ROLES, Word

# By the kind that an entry names; one that is not here is shown as it is written.
KINDS = {
    "account": Word("Account", "person"),
    "alarm": Word("Alarm", "alarm"),
    "api_key": Word("API key", "lock"),
    "app": Word("App", "apps"),
    "audit": Word("Audit", "audit"),
    "audit_entry": Word("Audit entry", "audit"),
    "audit_lane": Word("Lane of the audit", "audit"),
    "closure": Word("Closure of a flag", "flag"),
    "episode": Word("Episode", "episodes"),
    "erasure": Word("Erasure", "erasures"),
    "erasures_list": Word("List of erasures", "erasures"),
    "feedback": Word("Feedback", "speech"),
    "flag": Word("Flag", "flag"),
    "generation": Word("Vector generation", "settings"),
    "hold": Word("Legal hold", "lock"),
    "holds_list": Word("List of holds", "lock"),
    "incident": Word("Incident", "incidents"),
    "incidents_list": Word("List of incidents", "incidents"),
    "installation": Word("Installation", "settings"),
    "invitation": Word("Invitation", "person"),
    "lesson": Word("Lesson", "promotion"),
    "member": Word("Member", "person"),
    "precedent": Word("Precedent", "promotion"),
    "recall": Word("Recall", "recalls"),
    "recall_log": Word("Recall log", "recalls"),
    "subject": Word("Subject", "person"),
    "tombstone": Word("Tombstone", "erasures"),
    "toolset": Word("Toolset", "wrench"),
}
# The beginnings of verbs, which a filter takes for all of them.
GROUPS = (
    *("account", "alarm", "app", "audit", "closure", "demo", "episode", "episodes", "erasure"),
    *("erasures", "feedback", "flag", "generation", "history", "hold", "holds", "incident"),
    *("incident_hook", "incidents", "invitation", "key", "lesson", "member", "outcome"),
    *("precedent", "profile", "reach", "recall", "recalls", "retention", "subject", "tombstone"),
    *("toolset", "trust_rules", "whitelist"),
)
# A key and a command act in no role.
ROLE_CHOICES = [
    ("", "Any"),
    *ROLES.items(),
    ("superuser", "Superuser"),
    ("none", "None: a key, a command"),
]
CHANGES, READS = "changes", "reads"
WAYS = [("", "Both"), (CHANGES, "Changes"), (READS, "Reads")]


def kind_word(kind: str) -> Word:
    return KINDS.get(kind, Word(kind.replace("_", " ").capitalize(), "open"))
