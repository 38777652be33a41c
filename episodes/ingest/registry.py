"""Formats by name. A new format is one module in formats/ with one decorated function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from episodes.ingest.exceptions import SessionTooLargeError, UnknownFormatError
from episodes.ingest.parsed import MAX_STEPS, ParsedSession
from episodes.ingest.safe_text import census, refuse_unstorable

Parser = Callable[[object], ParsedSession]


@dataclass(frozen=True, slots=True)
class _Format:
    parser: Parser
    own: bool


_FORMATS: dict[str, _Format] = {}


def format_parser(name: str, *, own: bool = False) -> Callable[[Parser], Parser]:
    """Register the function that reads `name`. In an `own` format what cannot be stored is the
    caller's mistake; in a foreign one it is stripped and counted."""

    def register(parser: Parser) -> Parser:
        if name in _FORMATS:
            raise ValueError(f"format {name!r} is registered twice")
        _FORMATS[name] = _Format(parser, own)
        return parser

    return register


def parse(format_name: str, session: object) -> ParsedSession:
    """Raises UnknownFormatError, MalformedSessionError (422) or SessionTooLargeError (413)."""
    chosen = _FORMATS.get(format_name)
    if chosen is None:
        raise UnknownFormatError(format_name)
    if chosen.own:
        refuse_unstorable(session)
    parsed = chosen.parser(session)
    if len(parsed.steps) > MAX_STEPS:
        detail = f"{len(parsed.steps)} calls and results; one session may have {MAX_STEPS}"
        raise SessionTooLargeError("", "too_many_steps", detail)
    return replace(parsed, stripped=census(session))


def names() -> tuple[str, ...]:
    return tuple(sorted(_FORMATS))
