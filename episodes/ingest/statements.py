"""What a session says about its outcome that has not been said before."""

from __future__ import annotations

from datetime import datetime

from episodes.enums import Outcome, OutcomeSource
from episodes.ingest.carried import TOOL
from episodes.ingest.evidence import Evidence
from episodes.ingest.outcomes import MULTIPLE_OUTCOMES
from episodes.ingest.parsed import ParsedStatement
from episodes.lifecycle import Statement
from episodes.models import Episode, EpisodeRevision, OutcomeEntry

_Told = tuple[str, str, datetime | None, str, float | None]


def new_statements(
    *,
    head: Episode,
    evidence: Evidence,
    revision: EpisodeRevision,
    score: float | None,
    ahead: bool,
    may_verify: bool,
) -> list[Statement]:
    """Return the session's own word, or the statements that an export tells instead of it.

    Only a key with the scope `verify` asserts as a tool; otherwise it is the agent's claim.
    `ahead`: the session has got further than anybody said it had.
    """
    told = evidence.carried.statements
    if told is not None:
        return _carried(told, head=head, revision=revision.revision, may_verify=may_verify)
    source = OutcomeSource.TOOL if may_verify else OutcomeSource.AGENT_CLAIM
    outcome = evidence.outcome
    if evidence.outcome_reason == MULTIPLE_OUTCOMES:
        outcome = Outcome.UNKNOWN  # takes an earlier, single statement's place
    elif outcome in (None, Outcome.UNKNOWN):
        if score in (None, revision.score):
            return []
        return _score_alone(head, revision=revision.revision, score=score, source=source)
    said = OutcomeEntry.objects.filter(
        app_id=head.app_id, episode=head, source=source, retracts__isnull=True
    ).order_by("seq")
    known = said.reverse()[:1] if ahead else said.filter(revision=revision.revision)
    # another score is another statement; none takes no score back
    if any(one.outcome == outcome and score in (None, one.score) for one in known):
        return []
    return [
        Statement(
            outcome=str(outcome),
            source=source,
            revision=revision.revision,
            score=score,
            reason=evidence.outcome_reason or "",
        )
    ]


def _score_alone(
    head: Episode, *, revision: int, score: float | None, source: OutcomeSource
) -> list[Statement]:
    """A score without an outcome, of evidence that is stored with another score or none: it is of
    the outcome that the session stated; where nobody stated any, of one that is claimed to be
    unknown. Beside other people's word alone it says nothing that could be kept."""
    entries = list(OutcomeEntry.objects.filter(app_id=head.app_id, episode=head).order_by("seq"))
    taken_back = {entry.retracts for entry in entries}
    standing = [one for one in entries if one.retracts is None and one.id not in taken_back]
    own = [
        one
        for one in standing
        if one.source in (source, OutcomeSource.AGENT_CLAIM) and not one.attributed_to
    ]
    if (standing and not own) or any((one.revision, one.score) == (revision, score) for one in own):
        return []
    last = own[-1] if own else None
    return [
        Statement(
            outcome=str(last.outcome if last else Outcome.UNKNOWN),
            source=last.source if last else OutcomeSource.AGENT_CLAIM,
            revision=revision,
            score=score,
        )
    ]


def _carried(
    told: tuple[ParsedStatement, ...], *, head: Episode, revision: int, may_verify: bool
) -> list[Statement]:
    """Importing again says nothing twice, not even what was taken back meanwhile; and what an
    export tells of this very store is known here."""
    known = _known(head)
    found = []
    for said in told:
        as_tool = said.source == TOOL and may_verify and not said.attributed_to
        source = OutcomeSource.TOOL if as_tool else OutcomeSource.AGENT_CLAIM
        named = _named(said, said.attributed_to or source)
        if named in known or _named(said, said.attributed_to or said.source) in known:
            continue
        known.add(named)
        found.append(
            Statement(
                outcome=said.outcome,
                source=source,
                revision=revision,
                score=said.score,
                reason=said.reason,
                evidence=dict(said.evidence),
                said_at=said.at,
                attributed_to=said.attributed_to,
            )
        )
    return found


def _named(said: ParsedStatement, source: str) -> _Told:
    return said.outcome, source, said.at, said.reason, said.score


def _known(head: Episode) -> set[_Told]:
    entries = OutcomeEntry.objects.filter(app_id=head.app_id, episode=head, retracts__isnull=True)
    return {
        (
            str(entry.outcome),
            entry.attributed_to or entry.source,
            # what is told without its time is known by the rest of it
            at,
            entry.reason,
            entry.score,
        )
        for entry in entries
        for at in (entry.said_at or entry.at, None)
    }
