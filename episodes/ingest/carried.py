"""What an exported episode says beside its session, so that it comes in again as it went out:
{"outcomes"?: [{"outcome", "source"?: "tool" | "agent_claim", "attributed_to"?, "score"?, "reason"?,
"evidence"?, "at"?}], "feedback"?: [{"rating", "comment"?, "source"?, "feedback_id"?, "at"?}],
"outcome_reason"?, "blocked"?}.

Nobody is a reviewer by saying so: a person's word comes in as a claim that is attributed to one.
"""

from __future__ import annotations

from typing import Final

import orjson

from episodes.ingest import own_format as own
from episodes.ingest.outcomes import (
    MULTIPLE_OUTCOMES,
    UNRECOGNISED_OUTCOME,
    normalise_outcome,
)
from episodes.ingest.own_format import Object
from episodes.ingest.parsed import Carried, ParsedFeedback, ParsedStatement
from episodes.json_input import holds_big_number

TOOL: Final = "tool"
AGENT_CLAIM: Final = "agent_claim"
# What else a statement was where it was made; here it is an agent's claim.
ATTRIBUTIONS = ("resolution", "reviewer", "user_feedback", "model")
RATINGS = ("positive", "negative", "neutral")

# What is stored may be a little longer than what may be sent, masked as it is.
EVIDENCE_BYTES = 32 * 1024
ID_LENGTH = 256
SOURCE_LENGTH = 64


def read_carried(body: Object) -> Carried:
    statements = own.objects(body, "outcomes", "")
    return Carried(
        statements=None if statements is None else tuple(_statement(*told) for told in statements),
        feedback=tuple(_feedback(*told) for told in own.objects(body, "feedback", "") or ()),
        outcome_reason=own.word(
            body,
            "outcome_reason",
            "",
            among=("", MULTIPLE_OUTCOMES, UNRECOGNISED_OUTCOME),
            default="",
        ),
        blocked=own.flag(body, "blocked", ""),
    )


def _statement(told: Object, pointer: str) -> ParsedStatement:
    outcome = normalise_outcome(own.required_text(told, "outcome", pointer))
    if outcome is None:
        own.refuse(f"{pointer}/outcome", "invalid_choice", "an outcome")
    evidence = told.get("evidence")
    return ParsedStatement(
        outcome=outcome,
        source=own.word(told, "source", pointer, among=(TOOL, AGENT_CLAIM), default=AGENT_CLAIM),
        attributed_to=own.word(
            told, "attributed_to", pointer, among=("", *ATTRIBUTIONS), default=""
        ),
        score=own.number(told, "score", pointer),
        reason=own.text(told, "reason", pointer) or "",
        evidence={} if evidence is None else _evidence(evidence, f"{pointer}/evidence"),
        at=own.moment(told, "at", pointer),
    )


def _evidence(value: object, pointer: str) -> Object:
    evidence = own.as_object(value, pointer)
    if len(orjson.dumps(evidence)) > EVIDENCE_BYTES:
        own.refuse(pointer, "too_large", f"at most {EVIDENCE_BYTES} bytes")
    if holds_big_number(evidence):
        own.refuse(pointer, "too_large_number", "numbers of at most 63 bits")
    return evidence


def _feedback(told: Object, pointer: str) -> ParsedFeedback:
    own.required_text(told, "rating", pointer)
    return ParsedFeedback(
        rating=own.word(told, "rating", pointer, among=RATINGS, default=""),
        comment=own.text(told, "comment", pointer) or "",
        source=own.text(told, "source", pointer, longest=SOURCE_LENGTH) or "",
        feedback_id=own.text(told, "feedback_id", pointer, longest=ID_LENGTH) or None,
        at=own.moment(told, "at", pointer),
    )
