from __future__ import annotations

from typing import Any

from rest_framework import serializers


class ErrorSerializer(serializers.Serializer[Any]):
    pointer = serializers.CharField(allow_blank=True, help_text="JSON pointer into the request.")
    code = serializers.CharField()
    detail = serializers.CharField()


class ProblemSerializer(serializers.Serializer[Any]):
    """RFC 9457."""

    type = serializers.CharField(help_text="`urn:memoryadmin:problem:` and the code.")
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField()
    errors = ErrorSerializer(many=True)  # type: ignore[assignment]  # a member, not the property
