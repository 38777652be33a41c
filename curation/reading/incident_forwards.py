"""Forwards from an incident: who else was given what its runs were given, and what came of it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from curation.lists.paging import PAGE, Page
from curation.reading.goals import goals_of
from curation.reading.incident_backwards import Backwards
from curation.reading.incidents import Roots
from episodes.models import Member
from episodes.reach import Reach, ReachedSession, read_reach
from memoryadmin.lib.cursors import Cursor


@dataclass(frozen=True, slots=True)
class Suspect:
    """An episode that the reach can be taken of. `goal` None: it is gone."""

    episode_id: UUID
    goal: str | None
    is_followed: bool


@dataclass(frozen=True, slots=True)
class Forwards:
    suspects: Sequence[Suspect]
    reach: Reach

    @property
    def n_gone(self) -> int:
        return sum(not node.exists for node in self.reach.nodes)


def suspects_of(roots: Roots, backwards: Backwards) -> tuple[list[UUID], Sequence[UUID]]:
    """Return the episodes that can be followed, and those followed unless others are chosen.

    An episode that the incident names is what is suspected. Without one it is what the runs were
    given; if they were given nothing, what they wrote.
    """
    wrote = [episode.id for episode in backwards.wrote]
    given = backwards.given_ids
    return list(dict.fromkeys([*roots.episodes, *given, *wrote])), roots.episodes or given or wrote


def read_forwards(
    *, member: Member, roots: Roots, backwards: Backwards, asked: Sequence[UUID] = ()
) -> Forwards:
    """`asked`: which of the suspects to follow; what is none of them is passed over."""
    known, usual = suspects_of(roots, backwards)
    followed = [one for one in known if one in asked] or usual
    reach = read_reach(app_id=member.app_id, roots=followed, cutoffs=member.app.cutoffs)
    goals = goals_of(member=member, episode_ids=known)
    return Forwards([Suspect(one, goals.get(one), one in followed) for one in known], reach)


def place_of(session: ReachedSession) -> UUID:
    """Return what tells sessions reached at the same time apart, the same at every look."""
    named = f"{session.user_id}\0{session.session_id or ''}"
    return UUID(bytes=hashlib.sha256(named.encode()).digest()[:16])


def page_sessions(
    sessions: Sequence[ReachedSession], *, cursor: Cursor | None, size: int = PAGE
) -> Page[ReachedSession]:
    """Turn the pages of a reach, newest first. All of it is in memory: one statement reads it."""
    keyed = sorted(
        (((one.first_recalled_at, place_of(one)), one) for one in sessions),
        key=lambda pair: pair[0],
        reverse=True,
    )
    if cursor is None:
        start = 0
    elif cursor.back:
        newer = sum(key > (cursor.at, cursor.id) for key, _ in keyed)
        start = max(newer - size, 0)
    else:
        start = sum(key >= (cursor.at, cursor.id) for key, _ in keyed)
    shown = keyed[start : start + size]
    return Page(
        [one for _, one in shown],
        newer=str(Cursor(*shown[0][0], back=True)) if shown and start else None,
        older=str(Cursor(*shown[-1][0])) if shown and start + size < len(keyed) else None,
    )
