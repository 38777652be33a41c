from __future__ import annotations

from typing import Any

from rest_framework import serializers

from episodes.api.fields import AppNameField, IdField, OptionalTextField
from episodes.enums import ErasureStatus

REASON_LENGTH = 1_000


class ErasureBody(serializers.Serializer[Any]):
    app = AppNameField()
    user_id = IdField()
    reason = OptionalTextField(max_length=REASON_LENGTH, help_text="Masked before it is kept.")


class RequestedSerializer(serializers.Serializer[Any]):
    """`erasure_id`: the one that runs already, if one does."""

    erasure_id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=ErasureStatus.choices)


class ErasureSerializer(serializers.Serializer[Any]):
    """`counts`: rows deleted, by store. `found`: rows that a verification still found, by column;
    they are deleted again. `certificate` and `clearance` are signed, and null until they are."""

    erasure_id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=ErasureStatus.choices)
    requested_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    verified_at = serializers.DateTimeField(allow_null=True)
    physically_cleared_at = serializers.DateTimeField(allow_null=True)
    counts = serializers.DictField(child=serializers.IntegerField())
    total = serializers.IntegerField()
    found = serializers.DictField(child=serializers.IntegerField())
    certificate = serializers.DictField(allow_null=True)
    clearance = serializers.DictField(allow_null=True)


_BODY = ErasureBody()


def read_erasure(body: object) -> dict[str, Any]:
    return dict(_BODY.run_validation(body))
