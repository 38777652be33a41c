"""Reading a time that somebody wrote for us."""

from __future__ import annotations

import re
from datetime import datetime

_DATE = r"(?:\d{4}-\d\d-\d\d|\d{8}|\d{4}-W\d\d-\d|\d{4}W\d{3})"
_TIME = r"\d\d(?::\d\d(?::\d\d(?:[.,]\d+)?)?|\d\d(?:\d\d(?:[.,]\d+)?)?)?"
_OFFSET = r"(?:Z|[+-]\d\d(?::?\d\d(?::?\d\d(?:\.\d+)?)?)?)"
_MOMENT = re.compile(rf"{_DATE}(?:[Tt ]{_TIME}{_OFFSET}?)?", re.ASCII)


class NoMomentError(ValueError):
    """It is no time in ISO 8601, or there is no such time."""


def read_moment(written: str) -> datetime:
    """Return the moment; it is naive where no offset was written. Raises NoMomentError.

    `fromisoformat` by itself passes over a character behind the seconds, whatever it is.
    """
    if not _MOMENT.fullmatch(written):
        raise NoMomentError
    try:
        return datetime.fromisoformat(written)
    except ValueError as error:
        raise NoMomentError from error
