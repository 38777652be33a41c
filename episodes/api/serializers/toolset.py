from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from episodes.api.fields import (
    AppNameField,
    IdField,
    ListOf,
    OptionalIdField,
    OptionalTextField,
    TextField,
)
from episodes.enums import HashKind
from episodes.ingest.names import NAME_LENGTH
from episodes.json_input import holds_nul
from episodes.toolset_hash import (
    MOST_TOOLS,
    DuplicateToolError,
    Tool,
    ToolsetVersion,
    hash_tools,
    kind_of,
)

VERSION_LENGTH = 128
_NAME_SCHEMA: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": NAME_LENGTH}
_TOOL_SCHEMA: dict[str, Any] = {
    "oneOf": [
        {**_NAME_SCHEMA, "description": "The name alone."},
        {
            "type": "object",
            "properties": {
                "name": _NAME_SCHEMA,
                "parameters": {
                    "type": "object",
                    "additionalProperties": {},
                    "nullable": True,
                    "description": "A JSON schema.",
                },
            },
            "required": ["name"],
        },
    ]
}


@extend_schema_field(_TOOL_SCHEMA)
class ToolField(serializers.Field[Any, Any, Any, Any]):
    """One tool: its name, and the JSON schema of its parameters if known."""

    default_error_messages = {
        "invalid": "Must be an object with a name, or a name.",
        "name": f"The name must be a string of 1 to {NAME_LENGTH} characters.",
        "null_characters_not_allowed": "Null characters are not allowed.",
        "parameters": "The parameters must be a JSON schema, that is an object.",
    }

    def to_internal_value(self, data: Any) -> Tool:
        if isinstance(data, str):
            data = {"name": data}
        if not isinstance(data, dict):
            self.fail("invalid")
        name, parameters = data.get("name"), data.get("parameters")
        if not isinstance(name, str) or not 0 < len(name) <= NAME_LENGTH or "\0" in name:
            self.fail("name")
        if parameters is not None and not isinstance(parameters, dict):
            self.fail("parameters")
        if holds_nul(parameters):
            self.fail("null_characters_not_allowed")
        return Tool(name, parameters)


class ToolsField(ListOf):
    default_error_messages = {"duplicate": "Two tools have the same name."}

    def __init__(self, **options: Any) -> None:
        super().__init__(child=ToolField(), min_length=1, max_length=MOST_TOOLS, **options)

    def to_internal_value(self, data: Any) -> list[Tool]:
        tools: list[Tool] = super().to_internal_value(data)
        try:
            hash_tools(tools)
        except DuplicateToolError:
            self.fail("duplicate")
        return tools


@extend_schema_field(
    {
        "oneOf": [
            {
                "type": "object",
                "properties": {
                    "version": {"type": "string", "minLength": 1, "maxLength": VERSION_LENGTH}
                },
                "required": ["version"],
            },
            {
                "type": "object",
                "properties": {
                    "tools": {
                        "type": "array",
                        "items": _TOOL_SCHEMA,
                        "minItems": 1,
                        "maxItems": MOST_TOOLS,
                    }
                },
                "required": ["tools"],
            },
        ]
    }
)
class ToolsetReferenceField(serializers.Field[Any, Any, Any, Any]):
    """The toolset a session ran with: its version, or its tools, which the server hashes."""

    default_error_messages = {"invalid": "Must be an object with either version or tools."}

    def to_internal_value(self, data: Any) -> ToolsetVersion:
        if not isinstance(data, dict) or len(data.keys() & {"version", "tools"}) != 1:
            self.fail("invalid")
        if "tools" in data:
            return hash_tools(_TOOLS.run_validation(data["tools"]))
        version = _VERSION.run_validation(data["version"])
        return ToolsetVersion(version, kind_of(version))


_TOOLS = ToolsField()
_VERSION = TextField(max_length=VERSION_LENGTH)


class ToolsetBody(serializers.Serializer[Any]):
    app = AppNameField()
    agent_id = OptionalIdField()
    tools = ToolsField()
    version = OptionalTextField(
        max_length=VERSION_LENGTH,
        help_text="A name of your own; by default the hash of the tools.",
    )


class RetireBody(serializers.Serializer[Any]):
    app = AppNameField()
    agent_id = IdField(
        required=False,
        allow_null=True,
        allow_blank=True,
        default=None,
        help_text="By default every agent that declared this version.",
    )


class ToolsetAnswerSerializer(serializers.Serializer[Any]):
    version = serializers.CharField()
    hash_kind = serializers.ChoiceField(choices=HashKind.choices)


class RetiredAnswerSerializer(ToolsetAnswerSerializer):
    retired_at = serializers.DateTimeField()


_DECLARE = ToolsetBody()
_RETIRE = RetireBody()


def read_toolset(body: object) -> dict[str, Any]:
    return dict(_DECLARE.run_validation(body))


def read_retirement(body: object) -> dict[str, Any]:
    return dict(_RETIRE.run_validation(body))
