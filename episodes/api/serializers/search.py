from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from episodes.api.fields import (
    LABEL_LENGTH,
    AppNameField,
    FlagField,
    IdField,
    ListOf,
    MomentField,
    OptionalIdField,
    OptionalTextField,
    StrictSerializer,
    TextField,
    WholeField,
    WordField,
)
from episodes.api.problem import Problem
from episodes.api.serializers.outcome import OutcomeField
from episodes.api.serializers.toolset import VERSION_LENGTH
from episodes.enums import (
    Arm,
    Outcome,
    OutcomeSource,
    RecallMode,
    ReviewState,
    Scope,
    ToolsetRelation,
)
from episodes.ingest.evidence import GOAL_LENGTH
from episodes.ingest.names import NAME_LENGTH
from episodes.recall import BOTH, Filters, SearchRequest

SEARCHED_SCOPES = (*Scope.values, BOTH)
EXCLUSION_REASONS = (
    "failure_below_threshold",
    "cap",
    "below_minimum",
    "same_procedure",
    "own_copy",
)


@extend_schema_field({"type": "string", "minLength": 1, "maxLength": GOAL_LENGTH})
class QueryField(TextField):
    """What to look for. A query that is too long is too large a request, not an invalid one."""

    def to_internal_value(self, data: Any) -> str:
        query = super().to_internal_value(data)
        if len(query) > GOAL_LENGTH:
            detail = f"At most {GOAL_LENGTH} characters."
            raise Problem(413, "query_too_long", detail, pointer="/query")
        return query


class FiltersBody(StrictSerializer):
    issue_type = TextField(required=False, allow_null=True, max_length=128)
    agent_id = IdField(required=False, allow_null=True)
    tool = TextField(required=False, allow_null=True, max_length=NAME_LENGTH)
    error = TextField(required=False, allow_null=True, max_length=NAME_LENGTH)
    tags = ListOf(child=TextField(max_length=LABEL_LENGTH), required=False, max_length=32)
    task_id = IdField(required=False, allow_null=True)
    outcome = ListOf(child=OutcomeField(), required=False, max_length=16)
    since = MomentField(required=False, allow_null=True)
    until = MomentField(required=False, allow_null=True)
    min_review = WordField(choices=[ReviewState.REVIEWED.value], required=False, allow_null=True)


class SearchBody(StrictSerializer):
    app = AppNameField()
    user_id = IdField()
    query = QueryField()
    scope = WordField(choices=SEARCHED_SCOPES, required=False, default=BOTH)
    limit = WholeField(
        required=False,
        allow_null=True,
        default=None,
        min_value=1,
        max_value=2**31 - 1,
        help_text="The profile's cap holds in any case.",
    )
    session_id = IdField(required=False, allow_null=True, default=None)
    invocation_id = IdField(required=False, allow_null=True, default=None)
    agent_id = OptionalIdField()
    toolset_version = OptionalTextField(max_length=VERSION_LENGTH)
    filters = FiltersBody(required=False, default=dict)
    include_failures = FlagField(required=False, default=False, help_text="Needs `read`.")
    explain = FlagField(required=False, default=False)
    dry_run = FlagField(required=False, default=False, help_text="Needs `read`.")


class FactorsSerializer(serializers.Serializer[Any]):
    similarity = serializers.FloatField(allow_null=True)
    text = serializers.FloatField()
    relevance = serializers.FloatField()
    outcome_weight = serializers.FloatField()
    toolset_weight = serializers.FloatField()
    age_days = serializers.FloatField()
    decay = serializers.FloatField()
    score = serializers.FloatField()


class MemorySerializer(serializers.Serializer[Any]):
    episode_id = serializers.UUIDField()
    revision = serializers.IntegerField()
    scope = serializers.ChoiceField(choices=Scope.choices)
    content = serializers.CharField(required=False, help_text="Not in a dry run.")
    author = serializers.CharField()
    timestamp = serializers.DateTimeField()
    outcome = serializers.ChoiceField(choices=Outcome.choices)
    outcome_source = serializers.ChoiceField(choices=OutcomeSource.choices, allow_null=True)
    reviewed = serializers.BooleanField()
    toolset = serializers.ChoiceField(choices=ToolsetRelation.choices)
    similarity = serializers.FloatField(allow_null=True)
    score = serializers.FloatField()
    lesson = serializers.CharField(required=False, help_text="Not in a dry run.")
    tools = serializers.ListField(
        child=serializers.CharField(), required=False, help_text="Not in a dry run."
    )
    factors = FactorsSerializer(required=False, help_text="With `explain` or in a dry run.")


class ExcludedSerializer(serializers.Serializer[Any]):
    episode_id = serializers.UUIDField()
    scope = serializers.ChoiceField(choices=Scope.choices)
    revision = serializers.IntegerField()
    reason = serializers.ChoiceField(choices=EXCLUSION_REASONS)
    similarity = serializers.FloatField(allow_null=True)
    text = serializers.FloatField()
    outcome = serializers.ChoiceField(choices=Outcome.choices)
    outcome_source = serializers.ChoiceField(choices=OutcomeSource.choices, allow_null=True)
    toolset = serializers.ChoiceField(choices=ToolsetRelation.choices)
    age_days = serializers.FloatField()
    score = serializers.FloatField()


class SearchAnswerSerializer(serializers.Serializer[Any]):
    recall_id = serializers.UUIDField(
        allow_null=True,
        help_text="Null in a dry run, and for an erased subject, of whom nothing is logged.",
    )
    arm = serializers.ChoiceField(choices=Arm.choices, allow_null=True)
    recall_mode = serializers.ChoiceField(choices=RecallMode.choices)
    degraded = serializers.BooleanField()
    candidates = serializers.IntegerField()
    profile = serializers.CharField()
    context = serializers.CharField(  # type: ignore[assignment]  # a member
        help_text="Ready for a prompt, framed as untrusted data."
    )
    memories = MemorySerializer(many=True)
    excluded = ExcludedSerializer(
        many=True, required=False, help_text="With `explain` or in a dry run."
    )


_BODY = SearchBody()


def read_search(body: object) -> tuple[SearchRequest, str | None]:
    """Return the validated body and the app that it names, if any. Raises ValidationError."""
    valid = _BODY.run_validation(body)
    app = valid.pop("app", None)
    filters = valid.pop("filters")
    for many in ("tags", "outcome"):
        filters[many] = tuple(filters.get(many, ()))
    return SearchRequest(**valid, filters=Filters(**filters)), app
