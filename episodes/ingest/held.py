"""Why a session that comes in waits for a person before anybody may rely on it."""

from __future__ import annotations

from episodes.ingest.evidence import Evidence
from episodes.masking.screen import looks_like_instruction
from episodes.models import App, Episode
from episodes.tokens import text_words
from episodes.trust.burst import BURST, Burst
from episodes.trust.shadow import Finding, newcomer, watch_text


def why_held(
    *, app: App, evidence: Evidence, issue_type: str, head: Episode, burst: Burst | None
) -> Finding | None:
    """Return the first of: it reads like an instruction, it is one of many alike, its words would
    be first for too much. Its vector is judged when that is written."""
    reason = evidence.held_reason or looks_like_instruction(issue_type)
    if reason is not None:
        return Finding(reason, {})
    if burst is not None:
        return Finding(BURST, burst.figures)
    if head.user_id is None:
        return None
    watch = watch_text(app=app, user_id=head.user_id)
    if watch is None:
        return None
    return watch.judge(
        newcomer(head.id, text_words(evidence.search_text), frozenset(evidence.identifiers)),
        user_id=head.user_id,
        session_id=head.session_id,
    )
