"""Which events of an ADK session count."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache

import orjson

from episodes.ingest.foreign import read_id, read_moment

Object = Mapping[str, object]

NOTHING: Object = {}


def field_of(item: Object, camel: str) -> object:
    """Fields come in camelCase (API, Java) and in snake_case (Python, older files)."""
    value = item.get(camel)
    return item.get(_snake(camel)) if value is None else value


@lru_cache(maxsize=64)
def _snake(camel: str) -> str:
    return re.sub(r"([A-Z])", lambda match: f"_{match[1].lower()}", camel)


def moment_of(event: Object) -> datetime | None:
    return read_moment(event.get("timestamp"))


def live_events(events: list[Object]) -> tuple[list[Object], int]:
    """The events that still count, and how many were saved at all.

    Saved: not partial (the whole follows), and not the very same event again. Of these no longer
    live: the invocations that a rewind took back, the rewind itself, and compactions, which repeat
    earlier events in a model's words.
    """
    saved = _saved(events)
    live = [event for event in _without_rewound(saved) if _action(event, "compaction") is None]
    return live, len(saved)


def _saved(events: list[Object]) -> list[Object]:
    whole = [e for e in events if e.get("partial") is not True and not _options_partial(e)]
    uses = Counter(read_id(event.get("id")) for event in whole)
    seen: set[bytes] = set()
    saved = []
    for event in whole:
        if (event_id := read_id(event.get("id"))) is not None and uses[event_id] > 1:
            content = _canonical(event)
            if content in seen:
                continue
            seen |= {content} if content else set()
        saved.append(event)
    return saved


def _canonical(event: Object) -> bytes:
    """Empty for what nests too deep or counts too high to be compared."""
    try:
        return orjson.dumps(event, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:
        return b""


def _options_partial(event: Object) -> bool:
    """Before release."""
    options = event.get("options")
    return isinstance(options, Mapping) and options.get("partial") is True


def _without_rewound(events: list[Object]) -> list[Object]:
    """Backwards, as ADK does it: a rewind that was itself rewound rewinds nothing."""
    first_of: dict[str, int] = {}
    for index, event in enumerate(events):
        if invocation := read_id(field_of(event, "invocationId")):
            first_of.setdefault(invocation, index)
    live: list[Object] = []
    index = len(events) - 1
    while index >= 0:
        target = read_id(_action(events[index], "rewindBeforeInvocationId"))
        if target is None:
            live.append(events[index])
        elif first_of.get(target, index) < index:
            index = first_of[target]
        index -= 1
    return live[::-1]


def _action(event: Object, name: str) -> object:
    actions = event.get("actions")
    return field_of(actions, name) if isinstance(actions, Mapping) else None
