"""The published canonical form of a toolset and its hash. Pure.

docs/toolset-hash.md says it in words; docs/toolset-vectors.json has test vectors for clients.
Two toolsets have one hash when an agent cannot tell them apart by calling them: the order of
tools, members and required names does not matter, nor do descriptions and titles.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

NAMES: Final = "names"
SCHEMAS: Final = "schemas"
OPAQUE: Final = "opaque"

MOST_TOOLS = 512
_VERSION = re.compile(r"(names|schemas)-[0-9a-f]{64}")

# They explain; they allow and forbid nothing.
_ANNOTATIONS = frozenset({"title", "description", "examples", "example", "$comment", "$schema"})
# Their members are named by the caller, so `description` below is a property and no annotation.
_NAMED_SCHEMAS = frozenset({"properties", "patternProperties", "$defs", "definitions"})
_SETS = frozenset({"required", "enum", "type"})
_DATA = frozenset({"const", "default"})
_NO_PARAMETERS: Final[Mapping[str, Any]] = {"type": "object", "properties": {}}


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    parameters: Mapping[str, Any] | None = None  # a JSON schema


@dataclass(frozen=True, slots=True)
class ToolsetVersion:
    version: str
    hash_kind: str


class DuplicateToolError(Exception):
    """Two tools of one toolset have the same name."""


def hash_tools(tools: Sequence[Tool]) -> ToolsetVersion:
    """Return the version of a toolset: by its schemas if any tool has one, else by its names.

    Raises DuplicateToolError.
    """
    kind = SCHEMAS if any(tool.parameters is not None for tool in tools) else NAMES
    digest = hashlib.sha256(canonical_form(tools)).hexdigest()
    return ToolsetVersion(f"{kind}-{digest}", kind)


def canonical_form(tools: Sequence[Tool]) -> bytes:
    """Return the bytes that are hashed: JSON without blanks, members sorted, UTF-8."""
    by_name = {tool.name: tool for tool in tools}
    if len(by_name) != len(tools):
        raise DuplicateToolError
    if all(tool.parameters is None for tool in tools):
        return _json(sorted(by_name))
    return _json(
        [
            {"name": name, "parameters": _schema(by_name[name].parameters or _NO_PARAMETERS)}
            for name in sorted(by_name)
        ]
    )


def kind_of(version: str) -> str:
    """Return what a version is a hash of, as its spelling says; only equal kinds compare."""
    known = _VERSION.fullmatch(version)
    return known[1] if known else OPAQUE


def _schema(schema: Any) -> Any:
    """Return one schema without annotations. A boolean is a schema, too."""
    if not isinstance(schema, Mapping):
        return _plain(schema)
    return {
        keyword: _value(keyword, value)
        for keyword, value in schema.items()
        if keyword not in _ANNOTATIONS
    }


def _value(keyword: str, value: Any) -> Any:
    if keyword in _NAMED_SCHEMAS and isinstance(value, Mapping):
        return {name: _schema(inner) for name, inner in value.items()}
    if keyword in _SETS and isinstance(value, list):
        return sorted((_plain(item) for item in value), key=_json)
    if keyword in _DATA or keyword in _SETS:
        return _plain(value)
    if isinstance(value, list):
        return [_schema(item) for item in value]
    return _schema(value)


def _plain(value: Any) -> Any:
    """Return data as it is, but for whole floats: 1.0 and 1 are one JSON number."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def _json(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
