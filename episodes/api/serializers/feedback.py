from __future__ import annotations

from typing import Any

from rest_framework import serializers

from episodes.api.fields import (
    LABEL_LENGTH,
    AppNameField,
    IdField,
    MomentField,
    OptionalTextField,
    WordField,
)
from episodes.enums import Rating
from episodes.feedback import COMMENT_LENGTH


class FeedbackBody(serializers.Serializer[Any]):
    """What a user said about a session, which may still be to come."""

    app = AppNameField()
    user_id = IdField()
    session_id = IdField()
    feedback_id = IdField(required=False, allow_null=True, default=None)
    rating = WordField(choices=Rating.values)
    comment = OptionalTextField(max_length=COMMENT_LENGTH)
    source = OptionalTextField(max_length=LABEL_LENGTH)  # type: ignore[assignment]  # a member
    at = MomentField(required=False, allow_null=True, default=None)


class FeedbackAnswerSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    feedback_id = serializers.CharField(allow_null=True)
    rating = serializers.ChoiceField(choices=Rating.choices)
    received_at = serializers.DateTimeField()


_BODY = FeedbackBody()


def read_feedback(body: object) -> dict[str, Any]:
    return dict(_BODY.run_validation(body))
