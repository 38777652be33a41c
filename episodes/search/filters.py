"""The filters of a request, as predicates of the statement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# A filter is part of the statement only when it is asked for, so that the usual search stays one
# prepared statement. Each compares a parameter of the same name.
HEAD_FILTERS = {
    "issue_type": "h.issue_type = %(issue_type)s",
    "agent": "h.agent_id = %(agent)s",
    "task_id": "h.task_id = %(task_id)s",
    "tags": "h.tags @> %(tags)s::varchar[]",
    "outcome": "h.outcome = ANY (%(outcome)s::text[])",
    "since": "h.completed_at >= %(since)s",
    "until": "h.completed_at < %(until)s",
    "reviewed": "h.review_state = 'reviewed'",
}
# The organisation's rows have no session; none of them is the searcher's own run.
SESSION_FILTERS = {"session": "h.session_id <> %(session)s"}
REVISION_FILTERS = {
    "tool": "%(tool)s = ANY (r.tools)",
    "error": "%(error)s = ANY (r.errors)",
}


def asked_filters(parameters: Mapping[str, Any]) -> frozenset[str]:
    """Return which filters the parameters hold a value for."""
    every = (*HEAD_FILTERS, *SESSION_FILTERS, *REVISION_FILTERS)
    return frozenset(name for name in every if parameters.get(name) is not None)


def narrowing(filters: frozenset[str], *of: Mapping[str, str]) -> str:
    """Return those of the filters that are asked for, to be added to a WHERE."""
    return "".join(f" AND {sql}" for known in of for name, sql in known.items() if name in filters)
