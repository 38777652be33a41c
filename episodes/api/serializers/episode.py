from __future__ import annotations

from typing import Any

from rest_framework import serializers

from episodes.api.fields import AppNameField, IdField, StrictSerializer
from episodes.enums import (
    HashKind,
    IndexState,
    LessonSource,
    Outcome,
    OutcomeSource,
    RecallState,
    ReviewState,
    Scope,
    State,
)

STEP_KINDS = ("call", "result", "observation")


class EpisodeQuery(StrictSerializer):
    """Nothing is needed; another subject than the episode's is 404."""

    app = AppNameField()
    user_id = IdField(required=False, allow_null=True, default=None)


class StepSerializer(serializers.Serializer[Any]):
    seq = serializers.IntegerField()
    kind = serializers.ChoiceField(choices=STEP_KINDS)
    tool = serializers.CharField()
    call_id = serializers.CharField(required=False)
    arguments = serializers.DictField(required=False)
    error = serializers.CharField(required=False)
    summary = serializers.CharField(required=False)
    important = serializers.BooleanField(required=False)
    at = serializers.DateTimeField(required=False)


class EntrySerializer(serializers.Serializer[Any]):
    """A statement about the outcome, or the retraction of one (`retracts`)."""

    entry_id = serializers.UUIDField()
    at = serializers.DateTimeField()
    outcome = serializers.ChoiceField(choices=Outcome.choices, allow_null=True)
    source = serializers.ChoiceField(choices=OutcomeSource.choices)  # type: ignore[assignment]  # a member
    revision = serializers.IntegerField()
    score = serializers.FloatField(allow_null=True)
    reason = serializers.CharField(allow_blank=True)
    retracts = serializers.UUIDField(allow_null=True)
    stated_by = serializers.CharField(allow_blank=True)
    said_at = serializers.DateTimeField(
        allow_null=True, help_text="Of a statement that an import brought: when it was made."
    )
    attributed_to = serializers.ChoiceField(
        choices=OutcomeSource.choices,
        allow_blank=True,
        help_text="Whose word an imported claim was in the store that it comes from.",
    )


class RevisionSerializer(serializers.Serializer[Any]):
    revision = serializers.IntegerField()
    written_at = serializers.DateTimeField()
    content_hash = serializers.CharField()
    recorded_outcome = serializers.ChoiceField(choices=Outcome.choices)
    score = serializers.FloatField(allow_null=True)
    agent_id = serializers.CharField(allow_blank=True)
    task_id = serializers.CharField(allow_blank=True)
    issue_type = serializers.CharField(allow_blank=True)
    tags = serializers.ListField(child=serializers.CharField())
    started_at = serializers.DateTimeField(allow_null=True)
    n_events = serializers.IntegerField()
    sequence = serializers.IntegerField(allow_null=True)
    is_final = serializers.BooleanField()
    format = serializers.CharField()
    blocks = serializers.ListField(
        child=serializers.CharField(),
        help_text="The kinds of the blocks of this revision alone. One that is newer than the served"
        " one is not served while any stands.",
    )


class EpisodeSerializer(serializers.Serializer[Any]):
    """An episode with its trace. The evidence, its score, and agent, task, issue type, tags and start
    are the served revision's."""

    episode_id = serializers.UUIDField()
    app = serializers.CharField()
    scope = serializers.ChoiceField(choices=Scope.choices)
    user_id = serializers.CharField(allow_null=True)
    session_id = serializers.CharField(allow_null=True)
    episode_key = serializers.CharField(allow_blank=True)
    state = serializers.ChoiceField(choices=State.choices)
    recall_state = serializers.ChoiceField(choices=RecallState.choices)
    review_state = serializers.ChoiceField(choices=ReviewState.choices)
    index_state = serializers.ChoiceField(choices=IndexState.choices)
    outcome = serializers.ChoiceField(choices=Outcome.choices)
    outcome_source = serializers.ChoiceField(choices=OutcomeSource.choices, allow_null=True)
    contradicted = serializers.BooleanField()
    recorded_outcome = serializers.ChoiceField(choices=Outcome.choices)
    outcome_reason = serializers.CharField(allow_blank=True)
    score = serializers.FloatField(
        allow_null=True, help_text="As it came with the evidence; a later one is in `outcomes`."
    )
    blocks = serializers.ListField(
        child=serializers.CharField(),
        help_text="The kinds of the blocks that keep the served revision from recall.",
    )
    agent_id = serializers.CharField(allow_blank=True)
    task_id = serializers.CharField(allow_blank=True)
    issue_type = serializers.CharField(allow_blank=True)
    tags = serializers.ListField(child=serializers.CharField())
    toolset_version = serializers.CharField(allow_blank=True)
    toolset_kind = serializers.ChoiceField(choices=HashKind.choices)
    started_at = serializers.DateTimeField(allow_null=True)
    completed_at = serializers.DateTimeField(allow_null=True)
    completed_at_clamped = serializers.BooleanField()
    completed_recorded_at = serializers.DateTimeField(
        allow_null=True, help_text="When the store learned of the end; null where it cannot tell."
    )
    received_at = serializers.DateTimeField()
    revision = serializers.IntegerField()
    goal = serializers.CharField()
    steps = StepSerializer(many=True)
    resolution = serializers.CharField(allow_blank=True)
    lesson = serializers.CharField(allow_blank=True)
    lesson_source = serializers.ChoiceField(choices=LessonSource.choices)
    tools = serializers.ListField(child=serializers.CharField())
    dropped_arguments = serializers.ListField(child=serializers.CharField())
    stripped = serializers.DictField(child=serializers.IntegerField())
    outcomes = EntrySerializer(many=True)
    revisions = RevisionSerializer(many=True)


_QUERY = EpisodeQuery()


def read_episode_query(query: object) -> dict[str, Any]:
    return dict(_QUERY.run_validation(query))
