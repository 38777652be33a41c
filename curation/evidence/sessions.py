"""The affected sessions as CSV, for whoever has to call them back. Pure."""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Iterable, Iterator
from datetime import UTC
from io import StringIO

from episodes.reach import ReachedSession

COLUMNS = (
    "user_id",
    "session_id",
    "depth",
    "recalls",
    "first_recalled_at_utc",
    "first_episode_id",
    "first_revision",
    "first_rank",
    "first_outcome_as_served",
    "outcomes",
    "episode_ids",
)
# What a spreadsheet takes for a formula, also behind blanks and in full-width letters. Text that
# begins so gets an apostrophe, which spreadsheets take for "this is text"; so does what begins so
# behind a semicolon or a tab, where half of the world's spreadsheets begin another cell.
_BEGINS = r"[=+\-@\uff0b\uff0d\uff1d\uff20|%]"
_FORMULA = re.compile(rf"\s*{_BEGINS}|[\t\r\n]")
_INNER_FORMULA = re.compile(rf"""(;|(?!^)\t)(?=[\s"']*{_BEGINS})""")


def csv_lines(sessions: Iterable[ReachedSession]) -> Iterator[str]:
    """Yield the header and a line a session, oldest first, each field quoted."""
    yield _line(COLUMNS)
    for one in sorted(sessions, key=lambda s: (s.first_recalled_at, s.user_id, s.session_id or "")):
        yield _line(
            (
                one.user_id,
                one.session_id or "",
                one.depth,
                one.recalls,
                f"{one.first_recalled_at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
                one.first.episode_id,
                one.first.revision,
                one.first.rank,
                one.first.outcome,
                " ".join(ending.outcome for ending in one.ended),
                " ".join(str(ending.episode_id) for ending in one.ended),
            )
        )


def csv_digest(sessions: Iterable[ReachedSession]) -> str:
    """Return the sha256 of the whole file, hex."""
    return hashlib.sha256("".join(csv_lines(sessions)).encode()).hexdigest()


def guarded(value: object) -> str:
    text = _INNER_FORMULA.sub(r"\1'", str(value))
    return f"'{text}" if _FORMULA.match(text) else text


def _line(values: Iterable[object]) -> str:
    written = StringIO()
    csv.writer(written, quoting=csv.QUOTE_ALL, lineterminator="\r\n").writerow(map(guarded, values))
    return written.getvalue()
