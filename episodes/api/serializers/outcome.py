from __future__ import annotations

from typing import Any

import orjson
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from episodes.api.fields import AppNameField, IdField, NumberField, OptionalIdField, TextField
from episodes.enums import Outcome, OutcomeSource
from episodes.ingest.outcomes import normalise_outcome
from episodes.json_input import holds_big_number, holds_nul

STATED_OUTCOMES = [*Outcome.values, "resolved", "failed"]
EVIDENCE_BYTES = 8 * 1024


@extend_schema_field({"type": "string", "enum": STATED_OUTCOMES})
class OutcomeField(TextField):
    """How it ended; `resolved` is success and `failed` is failure."""

    default_error_messages = {"invalid_choice": "Not an outcome."}

    def to_internal_value(self, data: Any) -> str:
        outcome = normalise_outcome(super().to_internal_value(data))
        if outcome is None:
            self.fail("invalid_choice")
        return outcome


@extend_schema_field(
    {
        "oneOf": [{"type": "string"}, {"type": "object", "additionalProperties": {}}],
        "description": f"A text or an object, of at most {EVIDENCE_BYTES} bytes as JSON.",
    }
)
class EvidenceField(serializers.Field[Any, Any, Any, Any]):
    """What the tool has to show for it: a text or a small object; masked before it is stored."""

    default_error_messages = {
        "invalid": "Must be a text or an object.",
        "too_large": f"At most {EVIDENCE_BYTES} bytes.",
        "null_characters_not_allowed": "Null characters are not allowed.",
        "too_large_number": "Numbers have at most 63 bits.",
    }

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, str | dict):
            self.fail("invalid")
        if len(orjson.dumps(data)) > EVIDENCE_BYTES:
            self.fail("too_large")
        if holds_nul(data):
            self.fail("null_characters_not_allowed")
        if holds_big_number(data):
            self.fail("too_large_number")
        return {"text": data} if isinstance(data, str) else data


class OutcomeBody(serializers.Serializer[Any]):
    app = AppNameField()
    user_id = IdField()
    session_id = IdField()
    episode_key = OptionalIdField()
    outcome = OutcomeField()
    score = NumberField(required=False, allow_null=True, default=None)
    evidence = EvidenceField(required=False, default=dict)


class OutcomeAnswerSerializer(serializers.Serializer[Any]):
    """`outcome` and `outcome_source` are what holds now; a reviewer's word stands above a tool's."""

    entry_id = serializers.UUIDField()
    episode_id = serializers.UUIDField()
    outcome = serializers.ChoiceField(choices=Outcome.choices)
    outcome_source = serializers.ChoiceField(choices=OutcomeSource.choices)
    contradicted = serializers.BooleanField()


_BODY = OutcomeBody()


def read_outcome(body: object) -> dict[str, Any]:
    return dict(_BODY.run_validation(body))
