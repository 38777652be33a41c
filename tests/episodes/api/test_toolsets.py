from __future__ import annotations

import pytest

from episodes.models import Toolset
from tests.episodes.api.client import ApiClient
from tests.factories import make_app, make_key

SCHEMA = {"type": "object", "properties": {"amount": {"type": "number"}}}


def test_toolset_is_declared(client: ApiClient) -> None:
    body = {"agent_id": "refunds", "tools": [{"name": "refund", "parameters": SCHEMA}]}

    first, second = client.post("toolsets", body), client.post("toolsets", body)

    declared = Toolset.objects.get()
    assert (first.status, second.status) == (201, 200)
    assert first.body == second.body == {"version": declared.version, "hash_kind": "schemas"}
    assert (declared.agent_id, declared.tools) == ("refunds", ["refund"])


def test_version_may_be_the_callers(client: ApiClient) -> None:
    answer = client.post("toolsets", {"tools": ["refund"], "version": "2026-03"})

    assert answer.body == {"version": "2026-03", "hash_kind": "opaque"}


def test_toolset_is_retired(client: ApiClient) -> None:
    version = client.post("toolsets", {"tools": ["refund"]}).body["version"]

    answer = client.post(f"toolsets/{version}/retire")

    retired_at = Toolset.objects.get().retired_at
    assert retired_at is not None
    assert answer.status == 200
    assert answer.body == {
        "version": version,
        "hash_kind": "names",
        "retired_at": retired_at.isoformat().replace("+00:00", "Z"),
    }


def test_another_agents_toolset_is_404(client: ApiClient) -> None:
    client.post("toolsets", {"tools": ["refund"], "version": "v1", "agent_id": "refunds"})

    assert client.post("toolsets/v1/retire", {"agent_id": "billing"}).status == 404
    assert client.post("toolsets/v1/retire", {"agent_id": "refunds"}).status == 200


def test_another_apps_toolset_is_404(client: ApiClient) -> None:
    client.post("toolsets", {"tools": ["refund"], "version": "v1"})
    outsider = ApiClient(make_key(make_app())[1])

    assert outsider.post("toolsets/v1/retire").status == 404
    assert Toolset.objects.get().retired_at is None


@pytest.mark.parametrize(
    ("tools", "pointer"),
    [
        (None, "/tools"),
        ([], "/tools"),
        ({}, "/tools"),
        ([1], "/tools/0"),
        ([{}], "/tools/0"),
        ([""], "/tools/0"),
        (["a\0b"], "/tools/0"),
        (["x" * 129], "/tools/0"),
        ([{"name": "a", "parameters": "x"}], "/tools/0"),
        ([{"name": "a", "parameters": {"enum": ["x\0"]}}], "/tools/0"),
        ([{"name": "a", "parameters": {"properties": {"x\0": {}}}}], "/tools/0"),
        (["a", {"name": "a"}], "/tools"),
        (["a"] * 513, "/tools"),
    ],
)
def test_bad_tools_are_422(client: ApiClient, tools: object, pointer: str) -> None:
    answer = client.post("toolsets", {"tools": tools})

    assert answer.status == 422
    assert [error["pointer"] for error in answer.body["errors"]] == [pointer]
    assert Toolset.objects.count() == 0


def test_bad_version_is_422(client: ApiClient) -> None:
    for version in ("x" * 129, "a\0b", 1):
        assert client.post("toolsets", {"tools": ["a"], "version": version}).status == 422
