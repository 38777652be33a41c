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

# Kind, recogniser, shape of the piece. Where the recogniser has no checksum (UK, US), the shape
# with its letters or dashes is rare enough.
_RULES = (
    (
        "iban",
        "IbanRecognizer",
        r"[A-Za-z]{2}\d{2}(?:[ -]?[A-Za-z0-9]{4}){2,7}[ -]?[A-Za-z0-9]{0,3}",
    ),
    ("id", "EsNifRecognizer", r"\d{7,8}-?[A-Z]"),
    ("id", "EsNieRecognizer", r"[X-Z]-?\d{7,8}-?[A-Z]"),
    ("id", "ItFiscalCodeRecognizer", r"[A-Za-z]{6}[0-9A-Za-z]{9}[A-Za-z]"),
    ("id", "FiPersonalIdentityCodeRecognizer", r"\d{6}[-+A-FU-Y]\d{3}[0-9A-Y]"),
    ("id", "DeSocialSecurityRecognizer", r"\d{8}[A-Z]\d{3}"),
    ("id", "UkNinoRecognizer", r"[A-Z]{2} ?\d{2} ?\d{2} ?\d{2} ?[A-D]"),
    ("id", "UsSsnRecognizer", r"\d{3}-\d{2}-\d{4}"),
    ("id", "UsItinRecognizer", r"9\d{2}-\d{2}-\d{4}"),
    ("id", "SePersonnummerRecognizer", r"(?:\d{2})?\d{6}[-+]\d{4}"),
    ("id", "KrRrnRecognizer", r"\d{6}-[1-4]\d{6}"),
    ("id", "InAadhaarRecognizer", r"\d{4}[ -]\d{4}[ -]\d{4}(?! \d)"),
    ("wallet", "CryptoRecognizer", r"(?:bc1|[13])[a-zA-HJ-NP-Z0-9]{25,59}"),
)
_EDGE = (r"(?<![\w-])", r"(?![\w-])")
_SHAPES = re.compile("|".join(f"{_EDGE[0]}({shape}){_EDGE[1]}" for _, _, shape in _RULES))
_BELIEVED = 0.5  # presidio's score of a pattern that is specific by itself; a checksum gives 1.0
_lock = Lock()


def find_checksummed(text: str) -> Iterator[tuple[int, int, str]]:
    for match in _SHAPES.finditer(text):
        kind, name, _ = _RULES[(match.lastindex or 1) - 1]
        piece = match.group()
        for start, end in _judge(name, piece if kind == "wallet" else piece.upper()):
            yield match.start() + start, match.start() + end, kind


def is_phone(number: str) -> bool:
    """Whether some country's numbering plan allows this international number."""
    return _judge("PhoneRecognizer", number, believed=0.0) == [(0, len(number))]


def load_recognisers() -> None:
    """Pay for the import before the first request does."""
    for name in ("PhoneRecognizer", *(name for _, name, _ in _RULES)):
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
