from __future__ import annotations

import re
from dataclasses import dataclass

from episodes.masking.personal import find_personal
from episodes.masking.secrets import find_secrets
from episodes.masking.view import view_of
from episodes.screen import looks_like_instruction

__all__ = ["Masked", "looks_like_instruction", "mask", "mask_value"]

# Masking shortens a text, and a word that was too far from a number to speak for it may then be
# near enough. Run again until nothing is found; two rounds do in practice.
_ROUNDS = 6


@dataclass(frozen=True, slots=True)
class Masked:
    text: str
    kinds: tuple[str, ...]  # in order of appearance, each once: "email", "card", "secret", ...


# No rule finds anything in a text without one of these.
_WORTH_A_LOOK = re.compile(
    r"@|://|-----|\d(?:[^A-Za-z]{0,4}\d){5}|\d\.\d{1,3}\.\d|:[0-9A-Fa-f]{0,4}:"
    r"|[A-Za-z]\d{5}|\d{5}[A-Za-z]|[A-Za-z0-9_+/-]{20}"
    r"|(?i:pass|pwd|secret|token|key|bearer|basic|authori|\bpin\b|\bcv[vc]|\botp\b|code\b|iban"
    r"|kennwort|contrase)"
)


def mask(text: str) -> Masked:
    """Patterned personal data and secrets as `<EMAIL>`, `<PHONE>`, `<CARD>`, `<IBAN>`, `<IP>`,
    `<ID>`, `<SECRET>`. Names and addresses of people are not patterned and stay.

    Found on a view of the text without zero-width characters and in compatibility form; what is
    not masked comes back as it was written. `mask(mask(x)) == mask(x)`.
    """
    kinds: dict[str, None] = {}
    for _ in range(_ROUNDS):
        text, found = _mask_once(text)
        if not found:
            break
        kinds |= dict.fromkeys(found)
    return Masked(text, tuple(kinds))


def mask_value(value: str) -> str:
    """One argument value or code."""
    return mask(value).text


def _mask_once(text: str) -> tuple[str, list[str]]:
    view = view_of(text)
    if not _WORTH_A_LOOK.search(view.text):
        return text, []
    spans = [(*span, "secret") for span in find_secrets(view.text)]
    spans += find_personal(view.text)
    if not spans:
        return text, []
    parts, kinds, position = [], [], 0
    for start, end, kind in sorted(spans, key=lambda span: (span[0], -span[1])):
        start, end = view.back(start, end)
        if start < position:
            continue
        parts += [text[position:start], f"<{kind.upper()}>"]
        kinds.append(kind)
        position = end
    return "".join([*parts, text[position:]]), kinds
