from __future__ import annotations

from typing import Any

from rest_framework import serializers

from episodes.api.fields import AppNameField, IdField, StrictSerializer


class StatsQuery(StrictSerializer):
    app = AppNameField()
    user_id = IdField(required=False, allow_null=True, default=None)


class StatsSerializer(serializers.Serializer[Any]):
    """Episodes of the app, or of one subject. Outcomes are the effective ones of what is completed."""

    total = serializers.IntegerField()
    open = serializers.IntegerField()
    completed = serializers.IntegerField()
    pending = serializers.IntegerField(help_text="Waiting for their vector; found by text only.")
    held = serializers.IntegerField(
        help_text="Kept from recall until a person has looked. A held newer revision of what is"
        " recalled is not counted."
    )
    quarantined = serializers.IntegerField(help_text="Kept from recall by somebody's decision.")
    success = serializers.IntegerField()
    partial = serializers.IntegerField()  # type: ignore[assignment]  # a member
    failure = serializers.IntegerField()
    escalated = serializers.IntegerField()
    abandoned = serializers.IntegerField()
    unknown = serializers.IntegerField()
    unverified = serializers.IntegerField(help_text="Nobody with authority has said how it ended.")


_QUERY = StatsQuery()


def read_stats_query(query: object) -> dict[str, Any]:
    return dict(_QUERY.run_validation(query))
