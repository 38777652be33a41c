"""Names of tools and arguments: foreign, and shown to people and models.

One rule for all: word characters of any script and `. : / -`; whatever else stands between them
becomes one `_`; at most 128 characters, a longer name is cut and ends in `-` and 8 hex digits of
the SHA-256 of the whole, so that two long names stay two.
"""

from __future__ import annotations

import hashlib
import re

NAME_LENGTH = 128
UNNAMED = "unnamed"

_FOREIGN = re.compile(r"[^\w.:/-]+")


def safe_name(raw: str) -> str:
    name = _FOREIGN.sub("_", raw).strip("_ ") if _FOREIGN.search(raw) else raw
    if not any(character.isalnum() for character in name):
        return UNNAMED
    if len(name) <= NAME_LENGTH:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{name[: NAME_LENGTH - 9]}-{digest}"
