"""Text that somebody hostile may have written, taken apart so that a page shows all it holds. Pure.

What shows nothing, or moves what stands beside it (controls, bidi, zero-width, tags, fillers),
becomes a Ghost, which a page draws as a mark. The rest is left as it is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

_UNSEEN = (
    "\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u070f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u2800\u3164\ue000-\uf8ff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\ufffe\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "\U000f0000-\U0010ffff"
)
_COMBINING = "\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
# A letter carries three marks in honest scripts; more are drawn over the lines around it.
_SUSPECT = re.compile(f"[{_UNSEEN}]|(?<=[{_COMBINING}]{{3}})[{_COMBINING}]+")
_LAYOUT = frozenset("\t\n")
_EMOJI_JOINER, _EMOJI_STYLE = "\u200d", "\ufe0f"


@dataclass(frozen=True, slots=True)
class Ghost:
    """`mark` is drawn in the character's place; `name` says what it was."""

    mark: str
    name: str


def hides_something(text: str) -> bool:
    """Whether there may be anything to mark; line breaks and tabs count."""
    return _SUSPECT.search(text) is not None


def pieces(text: str, *, keep_layout: bool) -> Iterator[str | Ghost]:
    """Yield the text in order. With `keep_layout`, line breaks and tabs are left alone."""
    done = 0
    for match in _SUSPECT.finditer(text):
        found = match.group()
        if (keep_layout and found in _LAYOUT) or _is_part_of_emoji(text, match):
            continue
        if match.start() > done:
            yield text[done : match.start()]
        yield _ghost(found)
        done = match.end()
    if done < len(text):
        yield text[done:]


def plain(text: str) -> str:
    """Return the text for an attribute or a title: marks instead of what cannot be seen."""
    return "".join(
        piece if isinstance(piece, str) else f"⟨{piece.mark}⟩"
        for piece in pieces(text, keep_layout=False)
    )


def _ghost(found: str) -> Ghost:
    if len(found) > 1 or unicodedata.combining(found):
        return Ghost(f"+{len(found)} marks", f"{len(found)} more combining marks")
    code = ord(found)
    if code < 0x20:
        return Ghost(chr(0x2400 + code), f"U+{code:04X} control character")
    if code == 0x7F:
        return Ghost("\u2421", "U+007F control character")
    name = unicodedata.name(found, "unnamed character").lower()
    return Ghost(f"U+{code:04X}", f"U+{code:04X} {name}")


def _is_part_of_emoji(text: str, match: re.Match[str]) -> bool:
    """The joiner inside a family, the selector behind a heart: honest, and seen."""
    at = match.start()
    before = text[at - 1] if at else ""
    if match.group() == _EMOJI_STYLE:
        return bool(before) and unicodedata.category(before) in {"So", "Sm", "Po", "Nd"}
    if match.group() == _EMOJI_JOINER:
        after = text[at + 1 : at + 2]
        return (
            bool(before and after)
            and (before == _EMOJI_STYLE or unicodedata.category(before) in {"So", "Sk"})
            and unicodedata.category(after) == "So"
        )
    return False
