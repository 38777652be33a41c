from __future__ import annotations

import re
from collections.abc import Iterable

from episodes.ingest.safe_text import clean

# "hi" and "thanks" say nothing about a task.
LONGER_THAN = 15

# Simulators of users end a conversation with `###STOP###` or `### TRANSFER ###`.
_MARKER = re.compile(r"(?<!#)#{2,6}[ ]?[A-Z][A-Z_ -]{1,30}#{2,6}")
_PLACEHOLDER = re.compile(r"<[A-Z_]{2,16}>")


def first_goal(messages: Iterable[str]) -> str | None:
    return next((goal for text in messages if (goal := as_goal(text))), None)


def as_goal(text: str) -> str | None:
    """One paragraph, or None when it is too short to name a task. What the masker took out
    counts as long, so that an exported goal is a goal again."""
    goal = " ".join(_MARKER.sub(" ", clean(text)).split())
    return goal if len(goal) > LONGER_THAN or _PLACEHOLDER.search(goal) else None
