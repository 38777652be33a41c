"""Which entries of the audit an open incident keeps from being cut: about itself, and about the
subjects and things that it has to do with."""

from __future__ import annotations

from episodes.audit.cut_plan import keep_entries

_IS_OPEN = """EXISTS (SELECT FROM curation_incident i
    WHERE i.app_id = e.app_id AND i.state <> 'closed' AND (
        i.id::text = e.target_id OR i.user_id = p.user_id
        OR EXISTS (SELECT FROM curation_incidentlink l
            WHERE l.app_id = i.app_id AND l.incident_id = i.id AND l.removed_at IS NULL
                AND (l.user_id = p.user_id OR l.target_id = e.target_id))))"""


def keep_entries_of_incidents() -> None:
    """Called when the app is ready."""
    keep_entries("of an open incident", _IS_OPEN)
