"""Codes that carry a checksum or a fixed plan, judged by the recognisers of presidio-analyzer.

The recognisers are called directly: its engine would add a spaCy pipeline that none of these rules
reads. Each sees only a short piece of the right shape, because their own patterns are not made
for megabytes of hostile text. Importing the library takes over a second, so it happens at the
first piece worth judging, or earlier by `load_recognisers`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from threading import Lock
from typing import Any

# Kind, shape of the piece, who judges it. Where a recogniser has no checksum (UK, US), the shape
# with its letters or dashes is rare enough.
_RULES = (
    (
        "iban",
        r"[A-Za-z]{2}\d{2}(?:[ -]?[A-Za-z0-9]{4}){2,7}[ -]?[A-Za-z0-9]{0,3}",
        ("IbanRecognizer",),
    ),
    ("id", r"\d{7,8}-?[A-Z]", ("EsNifRecognizer",)),
    ("id", r"[X-Z]-?\d{7,8}-?[A-Z]", ("EsNieRecognizer",)),
    ("id", r"[A-Za-z]{6}[0-9A-Za-z]{9}[A-Za-z]", ("ItFiscalCodeRecognizer",)),
    (
        "id",
        r"\d{6}[-+A-FU-Y]\d{3}[0-9A-Y]",
        ("FiPersonalIdentityCodeRecognizer", "SePersonnummerRecognizer"),
    ),
    ("id", r"\d{8}[-+]\d{4}", ("SePersonnummerRecognizer",)),
    ("id", r"\d{8}[A-Z]\d{3}", ("DeSocialSecurityRecognizer",)),
    ("id", r"[A-Z]{2} ?\d{2} ?\d{2} ?\d{2} ?[A-D]", ("UkNinoRecognizer",)),
    ("id", r"\d{3}-\d{2}-\d{4}", ("UsSsnRecognizer", "UsItinRecognizer")),
    ("id", r"\d{6}-[1-4]\d{6}", ("KrRrnRecognizer",)),
    ("id", r"\d{4}[ -]\d{4}[ -]\d{4}(?! \d)", ("InAadhaarRecognizer",)),
    ("wallet", r"(?:bc1|[13])[a-zA-HJ-NP-Z0-9]{25,59}", ("CryptoRecognizer",)),
)
_EDGE = (r"(?<![\w-])", r"(?![\w-])")
_SHAPES = re.compile("|".join(f"{_EDGE[0]}({shape}){_EDGE[1]}" for _, shape, _ in _RULES))
_BELIEVED = 0.5  # presidio's score of a pattern that is specific by itself; a checksum gives 1.0
_lock = Lock()


def find_checksummed(text: str) -> Iterator[tuple[int, int, str]]:
    for match in _SHAPES.finditer(text):
        kind, _, names = _RULES[(match.lastindex or 1) - 1]
        piece = match.group() if kind == "wallet" else match.group().upper()
        for name in names:
            for start, end in _judge(name, piece):
                yield match.start() + start, match.start() + end, kind


def is_phone(number: str) -> bool:
    """Whether some country's numbering plan allows this international number."""
    return _judge("PhoneRecognizer", number, believed=0.0) == [(0, len(number))]


def load_recognisers() -> None:
    """Pay for the import before the first request does."""
    for _, _, names in (*_RULES, ("phone", "", ("PhoneRecognizer",))):
        for name in names:
            _recogniser(name)


def _judge(name: str, piece: str, *, believed: float = _BELIEVED) -> list[tuple[int, int]]:
    recogniser = _recogniser(name)
    results = recogniser.analyze(piece, recogniser.supported_entities)
    return [(result.start, result.end) for result in results if result.score >= believed]


def _recogniser(name: str) -> Any:
    with _lock:
        return _load(name)


@cache
def _load(name: str) -> Any:
    recognisers = import_module("presidio_analyzer.predefined_recognizers")
    settings = {"supported_regions": ("US",)} if name == "PhoneRecognizer" else {}
    return getattr(recognisers, name)(**settings)
