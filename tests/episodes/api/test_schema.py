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

        assert {"401", "403", "429"} <= set(refusals), (method, path)
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
