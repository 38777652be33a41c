"""The text a vector is made of."""

from __future__ import annotations


def embedding_text(goal: str, issue_type: str | None) -> str:
    """Return goal and issue type, nothing else.

    Calls and outcome would lower the similarity of the same task, and a corrected outcome would
    make the vector stale. The issue type is a slug; its words count, not its underscores.
    """
    words = (issue_type or "").replace("_", " ").replace("-", " ").strip()
    return f"{words}: {goal}" if words else goal
