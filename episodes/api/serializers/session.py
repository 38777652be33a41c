from __future__ import annotations

from typing import Any

from django.conf import settings
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError

from episodes.api.fields import (
    ID_LENGTH,
    LABEL_LENGTH,
    AnythingField,
    AppNameField,
    FlagField,
    IdField,
    ListOf,
    MomentField,
    NumberField,
    OptionalIdField,
    OptionalTextField,
    StrictSerializer,
    TextField,
    WholeField,
)
from episodes.api.serializers.outcome import OutcomeField
from episodes.api.serializers.problem import ErrorSerializer
from episodes.api.serializers.toolset import ToolsetReferenceField
from episodes.enums import IndexState, Outcome, OutcomeSource
from episodes.ingest import registry
from episodes.ingest.store import SessionWrite
from episodes.toolset_hash import ToolsetVersion

STATUSES = ("created", "updated", "unchanged", "ignored", "held")
BATCH_STATUSES = (*STATUSES, "rejected")
_LARGEST = 2**63 - 1


class SessionBody(serializers.Serializer[Any]):
    """A finished or checkpointed session. `final` false: the session goes on."""

    app = AppNameField()
    user_id = IdField()
    session_id = IdField()
    episode_key = OptionalIdField()
    sequence = WholeField(
        required=False, allow_null=True, default=None, min_value=0, max_value=_LARGEST
    )
    format = TextField(max_length=32, help_text="One of: " + ", ".join(registry.names()))
    session = AnythingField(
        help_text="The session in that format; `EpisodeSession` is what `episode` takes."
    )
    agent_id = OptionalIdField()
    task_id = OptionalIdField()
    tags = ListOf(
        child=TextField(max_length=LABEL_LENGTH), required=False, default=list, max_length=32
    )
    issue_type = OptionalTextField(max_length=128)
    outcome = OutcomeField(required=False, allow_null=True, default=None)
    score = NumberField(required=False, allow_null=True, default=None)
    toolset = ToolsetReferenceField(required=False, allow_null=True, default=None)
    final = FlagField(required=False, default=True)
    started_at = MomentField(required=False, allow_null=True, default=None)
    completed_at = MomentField(required=False, allow_null=True, default=None)


class SessionStatusQuery(StrictSerializer):
    app = AppNameField()
    user_id = IdField()
    session_id = IdField()
    episode_key = OptionalIdField()


class SessionAnswerSerializer(serializers.Serializer[Any]):
    status = serializers.ChoiceField(choices=STATUSES)
    reason = serializers.CharField(
        required=False, help_text="Why it was ignored, held or left unchanged (`superseded`)."
    )
    episode_id = serializers.UUIDField(required=False)
    revision = serializers.IntegerField(required=False)
    index_state = serializers.ChoiceField(
        choices=IndexState.choices, help_text="`ready` of what is ignored: nothing waits."
    )
    dropped_arguments = serializers.IntegerField()
    stripped = serializers.DictField(child=serializers.IntegerField(), required=False)
    outcome = serializers.ChoiceField(choices=Outcome.choices, allow_null=True)
    outcome_source = serializers.ChoiceField(choices=OutcomeSource.choices, allow_null=True)


class BatchBody(serializers.Serializer[Any]):
    items = serializers.ListField(child=SessionBody(), max_length=settings.BATCH_MAX_ITEMS)


class BatchResultSerializer(SessionAnswerSerializer):
    status = serializers.ChoiceField(choices=BATCH_STATUSES)
    index_state = serializers.ChoiceField(choices=IndexState.choices, required=False)
    dropped_arguments = serializers.IntegerField(required=False)
    outcome = serializers.ChoiceField(choices=Outcome.choices, allow_null=True, required=False)
    outcome_source = serializers.ChoiceField(
        choices=OutcomeSource.choices, allow_null=True, required=False
    )
    errors = ErrorSerializer(many=True, required=False)  # type: ignore[assignment]  # a member


class BatchAnswerSerializer(serializers.Serializer[Any]):
    results = BatchResultSerializer(many=True)


_SESSION = SessionBody()
_STATUS = SessionStatusQuery()


def read_session(body: object) -> tuple[SessionWrite, str | None]:
    """Return the validated body and the app that it names, if any. Raises ValidationError."""
    valid = _SESSION.run_validation(body)
    app = valid.pop("app", None)
    toolset: ToolsetVersion | None = valid.pop("toolset")
    write = SessionWrite(
        **valid | {"tags": tuple(dict.fromkeys(valid["tags"]))},
        toolset_version=toolset.version if toolset else "",
        toolset_kind=toolset.hash_kind if toolset else "opaque",
    )
    return write, app


def read_status_query(query: object) -> dict[str, Any]:
    return dict(_STATUS.run_validation(query))


def read_items(body: object) -> list[object]:
    """Return a batch's items, none of them validated yet. Raises ValidationError."""
    items = body.get("items") if isinstance(body, dict) else None
    if not isinstance(items, list):
        raise _refusal("items", "not_a_list", "Must be a list of sessions.")
    if len(items) > settings.BATCH_MAX_ITEMS:
        most = f"At most {settings.BATCH_MAX_ITEMS} sessions a batch."
        raise _refusal("items", "too_many", most)
    return items


def subjects_of(items: list[object]) -> list[str]:
    """Return the user ids that a batch names and that could be stored."""
    named = [item.get("user_id") for item in items if isinstance(item, dict)]
    return sorted(
        {
            name
            for name in named
            if isinstance(name, str) and len(name) <= ID_LENGTH and "\0" not in name
        }
    )


def _refusal(name: str, code: str, detail: str) -> ValidationError:
    return ValidationError({name: [ErrorDetail(detail, code=code)]})
