"""The affected sessions as CSV, for whoever has to call them back. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from datetime import UTC

from curation.spreadsheet import csv_line
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


def csv_lines(sessions: Iterable[ReachedSession]) -> Iterator[str]:
    """Yield the header and a line a session, oldest first, each field quoted."""
    yield csv_line(COLUMNS)
    for one in sorted(sessions, key=lambda s: (s.first_recalled_at, s.user_id, s.session_id or "")):
        yield csv_line(
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
