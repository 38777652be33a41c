from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.http import QueryDict
from rest_framework import serializers

from episodes.api.fields import (
    LABEL_LENGTH,
    AppNameField,
    IdField,
    ListOf,
    MomentField,
    StrictSerializer,
    TextField,
    WordField,
)
from episodes.api.serializers.episode import STEP_KINDS
from episodes.api.serializers.outcome import OutcomeField
from episodes.api.serializers.served_to import CursorField
from episodes.enums import BlockKind, Outcome, OutcomeSource, Rating, ReviewState, State
from episodes.export.wanted import Wanted
from episodes.ingest.carried import AGENT_CLAIM, ATTRIBUTIONS, ID_LENGTH, SOURCE_LENGTH, TOOL
from episodes.ingest.outcomes import MULTIPLE_OUTCOMES, UNRECOGNISED_OUTCOME
from episodes.ingest.parsed import MAX_EVENTS
from memoryadmin.lib.cursors import Cursor

_MANY = {"tags", "outcome"}
YES_NO = ("true", "false")


class ExportQuery(StrictSerializer):
    """All narrow; a parameter that is none of these is refused, since it would not."""

    app = AppNameField()
    user_id = IdField(required=False, help_text="One subject's episodes only.")
    session_id = IdField(required=False)
    agent_id = IdField(required=False)
    task_id = IdField(required=False)
    issue_type = TextField(required=False, max_length=128)
    tags = ListOf(
        child=TextField(max_length=LABEL_LENGTH),
        required=False,
        max_length=32,
        help_text="Repeated: all of them.",
    )
    outcome = ListOf(
        child=OutcomeField(), required=False, max_length=16, help_text="Repeated: any of them."
    )
    state = WordField(choices=State.choices, required=False)
    blocked = WordField(
        choices=YES_NO, required=False, help_text="Only what is kept out of recall, or is not."
    )
    since = MomentField(required=False, help_text="Completed then or later.")
    until = MomentField(required=False, help_text="Completed before.")
    after = CursorField(
        required=False, help_text="`stored.cursor` of the last line that arrived: go on behind it."
    )


class ExportStepSerializer(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(choices=STEP_KINDS)
    tool = serializers.CharField(required=False)
    call_id = serializers.CharField(required=False)
    arguments = serializers.DictField(required=False)
    error = serializers.CharField(required=False)
    summary = serializers.CharField(required=False)
    important = serializers.BooleanField(required=False)
    at = serializers.DateTimeField(required=False)


class ToldStatementSerializer(serializers.Serializer[Any]):
    """A statement about the outcome. Taken in, `tool` needs the scope `verify`, else it is an
    agent's claim; a person's word is one anyway, `attributed_to` whoever's it was there."""

    outcome = serializers.ChoiceField(choices=Outcome.choices)
    source = serializers.ChoiceField(  # type: ignore[assignment]  # a member
        choices=(TOOL, AGENT_CLAIM), required=False
    )
    attributed_to = serializers.ChoiceField(choices=ATTRIBUTIONS, required=False)
    score = serializers.FloatField(required=False)
    reason = serializers.CharField(required=False)
    evidence = serializers.DictField(required=False)
    at = serializers.DateTimeField(required=False)


class ToldFeedbackSerializer(serializers.Serializer[Any]):
    """What a user said about the session. Taken in, it needs the scope `feedback`."""

    rating = serializers.ChoiceField(choices=Rating.choices)
    comment = serializers.CharField(required=False)
    source = serializers.CharField(required=False, max_length=SOURCE_LENGTH)  # type: ignore[assignment]  # a member
    feedback_id = serializers.CharField(required=False, max_length=ID_LENGTH)
    at = serializers.DateTimeField(required=False)


class EpisodeSessionSerializer(serializers.Serializer[Any]):
    """The format `episode`. What stands after `lesson` is what an export adds, and anybody may."""

    goal = serializers.CharField()
    steps = ExportStepSerializer(many=True)
    resolution = serializers.CharField(required=False)
    lesson = serializers.CharField(required=False)
    n_events = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_EVENTS,
        help_text="Of a session that had more than its steps, or fewer.",
    )
    last_event_at = serializers.DateTimeField(required=False)
    outcome_reason = serializers.ChoiceField(
        choices=(MULTIPLE_OUTCOMES, UNRECOGNISED_OUTCOME), required=False
    )
    blocked = serializers.BooleanField(
        required=False, help_text="It was kept out of recall; here it waits for a person."
    )
    outcomes = ToldStatementSerializer(
        many=True, required=False, help_text="Stand instead of `outcome` as what was said of it."
    )
    feedback = ToldFeedbackSerializer(many=True, required=False)


class ToolsetVersionSerializer(serializers.Serializer[Any]):
    version = serializers.CharField()


class StoredSerializer(serializers.Serializer[Any]):
    """How it stands in this store; an import ignores it, and only in it do two exports differ."""

    cursor = serializers.CharField()
    episode_id = serializers.UUIDField()
    revision = serializers.IntegerField()
    content_hash = serializers.CharField()
    received_at = serializers.DateTimeField()
    outcome = serializers.ChoiceField(choices=Outcome.choices)
    outcome_source = serializers.ChoiceField(choices=OutcomeSource.choices, allow_null=True)
    review_state = serializers.ChoiceField(choices=ReviewState.choices)
    blocks = serializers.ListField(child=serializers.ChoiceField(choices=BlockKind.choices))


class ExportLineSerializer(serializers.Serializer[Any]):
    """One line: an item of POST /sessions/batch. What there is nothing to say of is left out."""

    user_id = serializers.CharField()
    session_id = serializers.CharField()
    episode_key = serializers.CharField(required=False)
    sequence = serializers.IntegerField(required=False)
    format = serializers.ChoiceField(choices=("episode",))
    session = EpisodeSessionSerializer()
    agent_id = serializers.CharField(required=False)
    task_id = serializers.CharField(required=False)
    issue_type = serializers.CharField(required=False)
    tags = serializers.ListField(child=serializers.CharField(), required=False)
    outcome = serializers.ChoiceField(choices=Outcome.choices, required=False)
    score = serializers.FloatField(required=False)
    toolset = ToolsetVersionSerializer(required=False)
    final = serializers.BooleanField()
    started_at = serializers.DateTimeField(required=False)
    completed_at = serializers.DateTimeField(required=False)
    stored = StoredSerializer()


_QUERY = ExportQuery()


def read_export_query(query: QueryDict) -> tuple[Wanted, Cursor | None, str | None]:
    """Return what is wanted, where to go on, and the app that is named, if any."""
    given = {
        name: values if name in _MANY else values[-1] for name, values in query.lists() if values
    }
    return read_wanted(given)


def read_wanted(
    given: Mapping[str, str | Sequence[str]],
) -> tuple[Wanted, Cursor | None, str | None]:
    """Raises ValidationError."""
    valid = _QUERY.run_validation(given)
    cursor, app = valid.pop("after", None), valid.pop("app", None)
    for many in _MANY & set(valid):
        valid[many] = tuple(valid[many])
    if "blocked" in valid:
        valid["blocked"] = valid["blocked"] == "true"
    return Wanted(**valid), cursor, app
