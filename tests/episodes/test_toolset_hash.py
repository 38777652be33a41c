from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import orjson
import pytest

from episodes.toolset_hash import (
    DuplicateToolError,
    Tool,
    canonical_form,
    hash_tools,
    kind_of,
)

DOCS = Path(__file__).resolve().parents[2] / "docs"
VECTORS = orjson.loads((DOCS / "toolset-vectors.json").read_bytes())


def tools_of(listed: list[dict[str, Any]]) -> list[Tool]:
    return [Tool(tool["name"], tool.get("parameters")) for tool in listed]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["about"])
def test_published_vector(vector: dict[str, Any]) -> None:
    tools = tools_of(vector["tools"])

    assert canonical_form(tools).decode() == vector["canonical"]
    assert hash_tools(tools).version == vector["version"]
    digest = hashlib.sha256(vector["canonical"].encode()).hexdigest()
    assert vector["version"] == f"{hash_tools(tools).hash_kind}-{digest}"


def version(parameters: Any, name: str = "refund") -> str:
    return hash_tools([Tool(name, parameters)]).version


NUMBER = {"type": "object", "properties": {"amount": {"type": "number"}}}


@pytest.mark.parametrize(
    "same",
    [
        {"properties": {"amount": {"type": "number"}}, "type": "object"},
        NUMBER | {"description": "Refund a charge", "title": "Refund"},
        {"type": "object", "properties": {"amount": {"type": "number", "examples": [1]}}},
        NUMBER | {"$schema": "https://json-schema.org/draft/2020-12/schema"},
    ],
)
def test_what_only_explains_does_not_count(same: Any) -> None:
    assert version(same) == version(NUMBER)


@pytest.mark.parametrize(
    "other",
    [
        {"type": "object", "properties": {"amount": {"type": "integer"}}},
        {"type": "object", "properties": {"sum": {"type": "number"}}},
        NUMBER | {"required": ["amount"]},
        {"type": "object", "properties": {"amount": {"type": "number", "default": 1}}},
        {
            "type": "object",
            "properties": {"amount": {"type": "number"}, "description": {"type": "string"}},
        },
        {"type": "object", "properties": {"amount": {"type": "number", "enum": [1, 2]}}},
    ],
)
def test_what_a_call_may_hold_counts(other: Any) -> None:
    assert version(other) != version(NUMBER)


def test_order_does_not_count() -> None:
    first, second = Tool("refund", NUMBER | {"required": ["a", "b"]}), Tool("lookup", None)
    swapped = Tool("refund", {"required": ["b", "a"]} | NUMBER)

    assert hash_tools([first, second]) == hash_tools([second, swapped])


def test_whole_floats_are_whole_numbers() -> None:
    assert version({"const": 1.0, "minimum": 5.0}) == version({"const": 1, "minimum": 5})


def test_tool_without_parameters_takes_none() -> None:
    known, unknown = {"type": "object", "properties": {}}, None
    others = Tool("refund", NUMBER)

    assert hash_tools([others, Tool("ping", known)]) == hash_tools([others, Tool("ping", unknown)])


def test_names_alone_are_another_kind() -> None:
    names = hash_tools([Tool("refund"), Tool("lookup")])
    schemas = hash_tools([Tool("refund", NUMBER), Tool("lookup")])

    assert (names.hash_kind, schemas.hash_kind) == ("names", "schemas")
    assert (kind_of(names.version), kind_of(schemas.version)) == ("names", "schemas")


@pytest.mark.parametrize("version", ["", "v1", "names-", "names-" + "A" * 64, "names-" + "0" * 65])
def test_other_versions_are_opaque(version: str) -> None:
    assert kind_of(version) == "opaque"


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(DuplicateToolError):
        hash_tools([Tool("refund"), Tool("refund", NUMBER)])
