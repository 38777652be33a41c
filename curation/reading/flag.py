"""One flag: what is said of the episode, what it reached, and what of that is out of recall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from curation.models import Containment, Flag, Precedent, PrecedentStatus
from curation.poison.flagging import Closure, read_closure
from curation.reading.goals import goals_of
from curation.reading.slices import Slice, read_slice, tie_of
from episodes.models import Episode, Member
from episodes.reach import ReachedEpisode, ReachedSession


@dataclass(frozen=True, slots=True)
class Step:
    """How much of the reach lies at one depth."""

    depth: int
    sessions: int
    episodes: int
    blocked: int


@dataclass(frozen=True, slots=True)
class FlagPage:
    """`head` and `goal` None: the episode has expired or was deleted. `shared`: what was published
    of it or of its reach, and is given to everybody as long as nothing else blocks it."""

    flag: Flag
    head: Episode | None
    goal: str | None
    closure: Closure
    containments: Sequence[Containment]
    shared: Sequence[Precedent]

    @property
    def standing(self) -> list[Containment]:
        return [one for one in self.containments if one.stands]

    @property
    def steps(self) -> list[Step]:
        """One for each depth that something lies at, the flagged episode itself left out."""
        reach = self.closure.reach
        depths = sorted({*reach.episodes_by_depth, *reach.sessions_by_depth} - {0})
        blocked = [node.depth for node in self.closure.blocked]
        return [
            Step(
                depth,
                reach.sessions_by_depth.get(depth, 0),
                reach.episodes_by_depth.get(depth, 0),
                blocked.count(depth),
            )
            for depth in depths
        ]


@dataclass(frozen=True, slots=True)
class AffectedRow:
    """`goal` None: the episode is gone. `is_contained`: a closure of this flag blocks it."""

    node: ReachedEpisode
    goal: str | None
    is_contained: bool


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session and the episodes it wrote; `influenced` are those that the recall came before."""

    session: ReachedSession
    influenced: frozenset[UUID]
    blocked: frozenset[UUID]


def find_flag(*, member: Member, flag_id: UUID) -> Flag | None:
    return Flag.objects.filter(app_id=member.app_id, id=flag_id).select_related("app").first()


def read_flag(*, member: Member, flag: Flag) -> FlagPage:
    """Six queries, whatever was reached."""
    head = Episode.objects.visible_to(member).filter(id=flag.episode_id).first()
    goals = goals_of(member=member, episode_ids=[head.id]) if head else {}
    closure = read_closure(flag=flag)
    return FlagPage(
        flag=flag,
        head=head,
        goal=goals.get(flag.episode_id),
        closure=closure,
        containments=list(
            Containment.objects.filter(app_id=flag.app_id, flag=flag).order_by("-blocked_at", "-id")
        ),
        shared=list(
            Precedent.objects.filter(
                app_id=flag.app_id,
                status=PrecedentStatus.APPROVED,
                org_episode_id__in=closure.copies - closure.contained,
            )
            .only("id", "goal")
            .order_by("approved_at", "id")
        ),
    )


def list_sessions(page: FlagPage, *, after: str | None) -> Slice[SessionRow]:
    """Return a page of the sessions that were given something of the reach, nearest first."""
    nodes: Mapping[UUID, ReachedEpisode] = {n.episode_id: n for n in page.closure.reach.nodes}
    found = read_slice(
        page.closure.reach.sessions,
        key=lambda one: (one.depth, one.first_recalled_at, tie_of(one.user_id, one.session_id)),
        after=after,
    )
    return Slice(
        [
            SessionRow(
                session,
                frozenset(e.episode_id for e in session.ended if e.episode_id in nodes),
                frozenset(
                    e.episode_id
                    for e in session.ended
                    if e.episode_id in nodes and nodes[e.episode_id].recall_state == "blocked"
                ),
            )
            for session in found.rows
        ],
        found.after,
    )


def list_affected(
    page: FlagPage, *, member: Member, depth: int | None, after: str | None
) -> Slice[AffectedRow]:
    """Return a page of what can be blocked, nearest first. One query."""
    chosen = [node for node in page.closure.affected if depth in (None, node.depth)]
    found = read_slice(
        chosen,
        key=lambda one: (one.depth, one.reached_at or page.flag.flagged_at, str(one.episode_id)),
        after=after,
    )
    goals = goals_of(member=member, episode_ids=[node.episode_id for node in found.rows])
    return Slice(
        [
            AffectedRow(node, goals.get(node.episode_id), node.episode_id in page.closure.contained)
            for node in found.rows
        ],
        found.after,
    )
