"""What of a pointer into a batch may be kept: names of ours and places in lists."""

from __future__ import annotations

from episodes.api.serializers.export import (
    EpisodeSessionSerializer,
    ExportStepSerializer,
    ToldFeedbackSerializer,
    ToldStatementSerializer,
)
from episodes.api.serializers.session import SessionBody

_SHAPES = (
    SessionBody,
    EpisodeSessionSerializer,
    ExportStepSerializer,
    ToldStatementSerializer,
    ToldFeedbackSerializer,
)
# Below these every name, and every number, is the caller's own.
_HOLD_ANYTHING = frozenset({"arguments", "evidence", "parameters"})
_OURS = _HOLD_ANYTHING.union(
    ("", "items", "messages", "events", "tools", "version"),
    *(shape().fields for shape in _SHAPES),
)


def without_callers_names(pointer: str) -> str:
    """Cut it before the first name that is not ours: whoever wrote the session chose that, and what
    is kept of a request holds no text of anybody's."""
    kept: list[str] = []
    for name in pointer.split("/"):
        is_place = name.isascii() and name.isdigit()
        if not is_place and name not in _OURS:
            break
        kept.append(name)
        if name in _HOLD_ANYTHING:
            break
    return "/".join(kept)
