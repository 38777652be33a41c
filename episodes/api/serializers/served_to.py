from __future__ import annotations

from typing import Any

from rest_framework import serializers

from episodes.api.fields import AppNameField, IdField, StrictSerializer
from episodes.enums import Arm, Outcome, OutcomeSource
from memoryadmin.lib.cursors import BadCursorError, Cursor

MOST, USUAL = 100, 50


class CursorField(serializers.CharField):
    """`next` of the page before holds it."""

    def to_internal_value(self, data: Any) -> Cursor:  # type: ignore[override]  # not a str
        try:
            return Cursor.read(super().to_internal_value(data))
        except BadCursorError:
            raise serializers.ValidationError("No cursor of ours.", code="invalid") from None


class ServedToQuery(StrictSerializer):
    app = AppNameField()
    user_id = IdField(
        required=False,
        allow_null=True,
        default=None,
        help_text="Whose recalls. An episode of the organisation needs it, or the scope `read_all`.",
    )
    limit = serializers.IntegerField(min_value=1, max_value=MOST, default=USUAL)
    cursor = CursorField(required=False, allow_null=True, default=None)


class EndingSerializer(serializers.Serializer[Any]):
    """An episode that the session wrote."""

    episode_id = serializers.UUIDField()
    outcome = serializers.ChoiceField(choices=Outcome.choices)
    outcome_source = serializers.ChoiceField(choices=OutcomeSource.choices, allow_null=True)


class ServedSerializer(serializers.Serializer[Any]):
    """One time that the episode was served, as it was then."""

    recall_id = serializers.UUIDField()
    recalled_at = serializers.DateTimeField()
    user_id = serializers.CharField()
    session_id = serializers.CharField(allow_null=True)
    agent_id = serializers.CharField(allow_blank=True)
    arm = serializers.ChoiceField(choices=Arm.choices, allow_null=True)
    served = serializers.BooleanField(help_text="False: the control arm, which was sent nothing.")
    rank = serializers.IntegerField()
    revision = serializers.IntegerField()
    outcome = serializers.ChoiceField(choices=Outcome.choices)
    outcome_source = serializers.ChoiceField(choices=OutcomeSource.choices, allow_null=True)
    similarity = serializers.FloatField(allow_null=True)
    score = serializers.FloatField()
    ended = EndingSerializer(many=True)


class DepthSerializer(serializers.Serializer[Any]):
    depth = serializers.IntegerField()
    sessions = serializers.IntegerField()
    episodes = serializers.IntegerField()


class ReachSerializer(serializers.Serializer[Any]):
    """How far it went: sessions that were given it or what came of it, and the episodes they wrote
    after that. `cut`: the last depth was served, too, and is not followed."""

    sessions = serializers.IntegerField()
    episodes = serializers.IntegerField()
    withheld = serializers.IntegerField(help_text="Searches of the control arm.")
    cut = serializers.BooleanField()
    by_depth = DepthSerializer(many=True)


class ServedToSerializer(serializers.Serializer[Any]):
    next = serializers.URLField(allow_null=True)
    results = ServedSerializer(many=True)
    reach = ReachSerializer(
        allow_null=True, help_text="Null for one subject's part of an episode of the organisation."
    )


_QUERY = ServedToQuery()


def read_served_to_query(query: object) -> dict[str, Any]:
    return dict(_QUERY.run_validation(query))
