"""Fields that take exactly what api.md says: no trimming, no guessing of types, no naive times."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError

from memoryadmin.lib.iso8601 import read_moment

ID_LENGTH = 256
LABEL_LENGTH = 64


class TextField(serializers.CharField):
    """A string as it was sent. DRF's own would trim it and take numbers; U+0000 it refuses too."""

    default_error_messages = {"not_a_string": "Must be a string."}

    def __init__(self, **options: Any) -> None:
        super().__init__(trim_whitespace=False, **options)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("not_a_string")
        return data


class AppNameField(TextField):
    def __init__(self) -> None:
        super().__init__(
            required=False, allow_null=True, help_text="The key's own app, if it is named at all."
        )


class IdField(TextField):
    """A caller's id: 1 to 256 characters, compared by equality and never interpreted."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("max_length", ID_LENGTH)
        super().__init__(**options)


class OptionalTextField(TextField):
    """A string that may be left out; null and the empty string say the same."""

    def __init__(self, **options: Any) -> None:
        super().__init__(required=False, allow_null=True, allow_blank=True, default="", **options)

    def run_validation(self, data: Any = serializers.empty) -> str:
        return super().run_validation(data) or ""


class OptionalIdField(OptionalTextField):
    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=ID_LENGTH, **options)


class AnythingField(serializers.JSONField):
    """Any JSON. DRF's own would write it out again to see whether it can."""

    def to_internal_value(self, data: Any) -> Any:
        return data


class WordField(serializers.ChoiceField):
    """One word of a closed list, spelled exactly so."""

    # DRF's message repeats what was sent
    default_error_messages = {"invalid_choice": "Not one of the words that are possible here."}

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, str) or data not in self.choices:
            self.fail("invalid_choice")
        return data


class FlagField(serializers.BooleanField):
    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return data


class WholeField(serializers.IntegerField):
    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, bool) or not isinstance(data, int):
            self.fail("invalid")
        return data


class NumberField(serializers.FloatField):
    """A finite number; JSON has no other, but DRF would read the string "nan"."""

    def to_internal_value(self, data: Any) -> float:
        if isinstance(data, bool) or not isinstance(data, int | float) or not math.isfinite(data):
            self.fail("invalid")
        return float(data)


class MomentField(serializers.DateTimeField):
    """ISO 8601 with an offset, turned to UTC."""

    default_error_messages = {
        "invalid": "Must be a time in ISO 8601, such as 2026-03-01T12:00:00Z.",
        "naive": "Must have an offset, such as Z or +02:00.",
    }

    def to_internal_value(self, value: Any) -> datetime:
        try:
            moment = read_moment(value)
            if moment.tzinfo is None:
                self.fail("naive")
            return moment.astimezone(UTC)
        except (TypeError, ValueError, OverflowError):
            self.fail("invalid")


class ListOf(serializers.ListField):
    """A list; DRF's own would take an object's keys or a string's letters for one."""

    def to_internal_value(self, data: Any) -> list[Any]:
        if not isinstance(data, list):
            self.fail("not_a_list", input_type=type(data).__name__)
        return list(super().to_internal_value(data))


class StrictSerializer(serializers.Serializer[Any]):
    """An object whose unknown members are an error: a filter that is not applied must not pass."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        known: dict[str, Any] = super().to_internal_value(data)
        unknown = set(data) - set(self.fields) if isinstance(data, Mapping) else ()
        if unknown:
            refusal = ErrorDetail("There is no such member.", code="unknown_member")
            raise ValidationError({name: [refusal] for name in sorted(unknown)})
        return known
