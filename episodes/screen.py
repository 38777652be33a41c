from __future__ import annotations

import re

from episodes.masking.view import folded

_RULES = (
    (
        "override_instructions",
        re.compile(
            r"(?i)\b(?:ignore|disregard|forget|override)\b[^.\n]{0,60}"
            r"\b(?:instructions?|prompts?|rules|guidelines)\b"
        ),
    ),
)


def looks_like_instruction(text: str) -> str | None:
    flat = folded(text)
    return next((reason for reason, rule in _RULES if rule.search(flat)), None)
