from __future__ import annotations

import re
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from drf_spectacular.generators import SchemaGenerator

OPERATIONS = {
    ("post", "/api/v1/sessions"),
    ("post", "/api/v1/sessions/batch"),
    ("get", "/api/v1/sessions/status"),
    ("post", "/api/v1/search"),
    ("post", "/api/v1/feedback"),
    ("post", "/api/v1/outcomes"),
    ("post", "/api/v1/toolsets"),
    ("post", "/api/v1/toolsets/{version}/retire"),
    ("post", "/api/v1/erasures"),
    ("get", "/api/v1/erasures/{erasure_id}"),
    ("delete", "/api/v1/users/{user_id}"),
    ("get", "/api/v1/episodes/{episode_id}"),
    ("get", "/api/v1/episodes/{episode_id}/recalls"),
    ("get", "/api/v1/stats"),
    ("get", "/api/v1/export"),
}


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    found: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return found


def test_document_is_served(document: dict[str, Any]) -> None:
    response = Client().get("/api/v1/schema/", headers={"Accept": "application/json"})

    assert response.status_code == 200
    assert response.json()["paths"].keys() == document["paths"].keys()


def operations(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (method, path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]


def test_document_is_valid_and_free_of_warnings() -> None:
    call_command("spectacular", "--validate", "--fail-on-warn", "--file", "/dev/null")


def test_document_lists_every_operation(document: dict[str, Any]) -> None:
    assert {(method, path) for method, path, _ in operations(document)} == OPERATIONS


def test_every_operation_names_its_scope_and_needs_the_key(document: dict[str, Any]) -> None:
    for method, path, operation in operations(document):
        assert re.match(r"Scope: `\w+`\.", operation["description"]), (method, path)
        assert operation["security"] == [{"key": []}], (method, path)
    assert document["components"]["securitySchemes"]["key"]["scheme"] == "bearer"


def test_refusals_are_problems(document: dict[str, Any]) -> None:
    for method, path, operation in operations(document):
        refusals = {s: r for s, r in operation["responses"].items() if s >= "400"}

        assert {"400", "401", "403", "429", "503"} <= set(refusals), (method, path)
        assert ("411" in refusals) == (method != "get"), (method, path)
        for refusal in refusals.values():
            assert list(refusal["content"]) == ["application/problem+json"]


def test_writes_take_an_idempotency_key(document: dict[str, Any]) -> None:
    writes = {
        path
        for _, path, operation in operations(document)
        if "Idempotency-Key" in {parameter["name"] for parameter in operation["parameters"]}
    }

    assert writes == {
        path
        for method, path in OPERATIONS
        if method in ("post", "delete") and path != "/api/v1/search"
    }


def headers_by_status(operation: dict[str, Any]) -> dict[str, set[str]]:
    return {
        status: set(response.get("headers", ()))
        for status, response in operation["responses"].items()
    }


def test_answers_tell_their_headers(document: dict[str, Any]) -> None:
    limits = {"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "X-Request-Id"}
    for method, path, operation in operations(document):
        is_write = method != "get" and path != "/api/v1/search"
        for status, told in headers_by_status(operation).items():
            expected = set(limits)
            if status in {"409", "429", "503"}:
                expected.add("Retry-After")
            if status == "401":
                expected.add("WWW-Authenticate")
            if status < "400" and is_write:
                expected.add("Idempotent-Replayed")
            if status < "400" and path == "/api/v1/export":
                expected |= {"X-Export-Id", "Content-Encoding"}
            assert told == expected, (method, path, status)


def test_a_deletion_by_path_may_be_refused_for_its_key(document: dict[str, Any]) -> None:
    assert "422" in document["paths"]["/api/v1/users/{user_id}"]["delete"]["responses"]


def test_lengths_that_are_refused_are_told(document: dict[str, Any]) -> None:
    told = {
        (component, name): (member.get("minLength"), member.get("maxLength"))
        for component, schema in document["components"]["schemas"].items()
        if component in {"SearchBody", "FeedbackBody", "ErasureBody"}
        for name, member in schema["properties"].items()
        if member.get("type") == "string" and "format" not in member
    }

    assert told == {
        ("SearchBody", "app"): (1, None),
        ("SearchBody", "user_id"): (1, 256),
        ("SearchBody", "query"): (1, 8000),
        ("SearchBody", "session_id"): (1, 256),
        ("SearchBody", "invocation_id"): (1, 256),
        ("SearchBody", "agent_id"): (None, 256),
        ("SearchBody", "toolset_version"): (None, 128),
        ("FeedbackBody", "app"): (1, None),
        ("FeedbackBody", "user_id"): (1, 256),
        ("FeedbackBody", "session_id"): (1, 256),
        ("FeedbackBody", "feedback_id"): (1, 256),
        ("FeedbackBody", "comment"): (None, 8000),
        ("FeedbackBody", "source"): (None, 64),
        ("ErasureBody", "app"): (1, None),
        ("ErasureBody", "user_id"): (1, 256),
        ("ErasureBody", "reason"): (None, 1000),
    }


def test_types_are_those_that_are_taken(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    evidence = schemas["OutcomeBody"]["properties"]["evidence"]
    tool = schemas["ToolsetBody"]["properties"]["tools"]["items"]

    assert [one["type"] for one in evidence["oneOf"]] == ["string", "object"]
    assert [one["type"] for one in tool["oneOf"]] == ["string", "object"]


def members(document: dict[str, Any], name: str) -> tuple[set[str], set[str]]:
    """Return the required and the optional members of a component."""
    schema = document["components"]["schemas"][name]
    required = set(schema.get("required", ()))
    return required, set(schema["properties"]) - required


@pytest.mark.parametrize(
    ("component", "required", "optional"),
    [
        (
            "SessionBody",
            "user_id session_id format session",
            "app episode_key sequence agent_id task_id tags issue_type outcome score toolset final"
            " started_at completed_at",
        ),
        (
            "SearchBody",
            "user_id query",
            "app scope limit session_id invocation_id agent_id toolset_version filters"
            " include_failures explain dry_run",
        ),
        (
            "FiltersBody",
            "",
            "issue_type agent_id tool error tags task_id outcome since until min_review",
        ),
        ("FeedbackBody", "user_id session_id rating", "app feedback_id comment source at"),
        (
            "OutcomeBody",
            "user_id session_id outcome",
            "app episode_key score evidence",
        ),
        ("ToolsetBody", "tools", "app agent_id version"),
        (
            "EpisodeSession",
            "goal steps",
            "resolution lesson n_events last_event_at outcome_reason blocked outcomes feedback",
        ),
        ("Problem", "type title status detail errors", ""),
        ("Error", "pointer code detail", ""),
    ],
)
def test_members_are_those_of_the_contract(
    document: dict[str, Any], component: str, required: str, optional: str
) -> None:
    assert members(document, component) == (set(required.split()), set(optional.split()))


def test_page_has_no_inline_script_or_style_and_no_outside_file(db: None) -> None:
    response = Client().get("/api/v1/docs/")
    page = response.content.decode()

    assert response.status_code == 200
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=", page) == []
    sources = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert len(sources) >= 5
    assert [source for source in sources if not source.startswith("/")] == []


def test_page_loosens_images_only(db: None) -> None:
    docs = Client().get("/api/v1/docs/").headers["Content-Security-Policy"]
    other = Client().get("/healthz").headers["Content-Security-Policy"]

    assert "unsafe" not in docs
    assert docs.replace(" data:", "") == other
