"""The revisions of an episode, and what changed between two of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from curation.reading.revision_diff import Line, as_lines, compare
from episodes.models import Episode, EpisodeRevision, Member


@dataclass(frozen=True, slots=True)
class Compared:
    """`revisions` newest first, without their steps; `old` and `new` are what `lines` compare."""

    revisions: Sequence[EpisodeRevision]
    old: EpisodeRevision | None
    new: EpisodeRevision
    lines: Sequence[Line]

    @property
    def is_equal(self) -> bool:
        return all(line.kind in {"same", "gap"} for line in self.lines)


def compare_revisions(
    *, member: Member, head: Episode, old: int | None, new: int | None
) -> Compared | None:
    """Return the comparison asked for, by default the newest with the one before; None if one of
    them does not exist. Two queries."""
    every = EpisodeRevision.objects.filter(app_id=member.app_id, episode_id=head.id)
    newest = head.n_revisions if new is None else new
    before = old if old is not None else newest - 1
    shown = {
        revision.revision: revision for revision in every.filter(revision__in=(before, newest))
    }
    if newest not in shown or (before >= 1 and before not in shown) or before < 0:
        return None
    former = shown.get(before)
    return Compared(
        revisions=list(every.defer("steps", "search", "goal").order_by("-revision")),
        old=former,
        new=shown[newest],
        lines=compare(_lines(former), _lines(shown[newest])) if former else [],
    )


def _lines(revision: EpisodeRevision) -> list[str]:
    return as_lines(
        goal=revision.goal,
        steps=revision.steps,
        outcome=revision.recorded_outcome,
        resolution=revision.resolution,
        lesson=revision.lesson,
        issue_type=revision.issue_type,
        toolset=revision.toolset_version,
        agent=revision.agent_id,
        task=revision.task_id,
        tags=revision.tags,
        started_at=revision.started_at,
        score=revision.score,
    )
