"""A text without the person it tells of: what the masker finds, what is known of the subject, URLs,
accounts, dates of birth, postal addresses, names, and words that few others use. Pure.

    rare    (lower-case words) -> those of them that could identify somebody; curation/promotion/rare_tokens.py

What stays readable is the lesson: tool names, error codes and ordinary words. A name in a script
without capitals is found only if a list has it or something introduces it; the rest is left to the
rare words and to the person who looks at the two sides.
"""

from __future__ import annotations

from curation.anonymise.rounds import anonymise, find_leaks, names_in
from curation.anonymise.spans import Anonymised, Known, Rare, Redaction

__all__ = ["Anonymised", "Known", "Rare", "Redaction", "anonymise", "find_leaks", "names_in"]
