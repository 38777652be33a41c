"""Characters that no stored text may hold, whoever wrote it.

Removed and counted by class:
- `nul`: U+0000, which PostgreSQL cannot store;
- `surrogate`: half of a pair, which is no text; replaced by U+FFFD;
- `hidden`: what changes how a text looks without being seen: control characters (terminal
  escapes), bidi controls, zero-width characters, tags, variation selectors of the supplement.
Line and paragraph separators become line feeds, letters their composed form (NFC). ZWJ and ZWNJ stay, without them emoji and several
scripts fall apart; names and codes do not keep them (names.py).
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from episodes.ingest.exceptions import MalformedSessionError

_HIDDEN = (
    "\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e0fff"
)
_BREAK = re.compile("\r\n?|[\u2028\u2029]")
_UNSAFE = re.compile(f"[\x00\r\u2028\u2029\ud800-\udfff{_HIDDEN}]")
_COUNTED = re.compile(f"(?P<nul>\x00)|(?P<surrogate>[\ud800-\udfff])|(?P<hidden>[{_HIDDEN}])")
_SURROGATE = re.compile("[\ud800-\udfff]")
_DROPPED = re.compile(f"[\x00{_HIDDEN}]")


def clean(text: str) -> str:
    if _UNSAFE.search(text):
        text = _SURROGATE.sub("\ufffd", _BREAK.sub("\n", text))
        text = _DROPPED.sub("", text)
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def census(value: object) -> dict[str, int]:
    """How many unsafe characters stand in all strings and keys of a JSON value, by class."""
    counts: Counter[str] = Counter()
    for _, text in _strings(value):
        if _UNSAFE.search(text):
            counts.update(match.lastgroup or "" for match in _COUNTED.finditer(text))
    return dict(sorted(counts.items()))


def refuse_unstorable(value: object) -> None:
    """For our own formats: a NUL or half a surrogate pair is the caller's mistake (422)."""
    for path, text in _strings(value):
        if "\x00" in text:
            raise MalformedSessionError(_pointer(path), "nul", "U+0000 cannot be stored")
        if _SURROGATE.search(text):
            detail = "half a surrogate pair is no text"
            raise MalformedSessionError(_pointer(path), "surrogate", detail)


_Path = tuple["_Path", object] | None


def _strings(value: object) -> Iterator[tuple[_Path, str]]:
    """Every string and key with its path, without recursion: depth is the sender's choice."""
    pending: list[tuple[_Path, object]] = [(None, value)]
    while pending:
        path, item = pending.pop()
        if isinstance(item, str):
            yield path, item
        elif isinstance(item, Mapping):
            for key, child in item.items():
                yield path, str(key)
                pending.append(((path, key), child))
        elif isinstance(item, Sequence):
            pending.extend(((path, index), child) for index, child in enumerate(item))


def _pointer(path: _Path) -> str:
    parts: list[str] = []
    while path is not None:
        path, key = path
        parts.append(clean(str(key)).replace("~", "~0").replace("/", "~1"))
    return "".join(f"/{part}" for part in reversed(parts))
