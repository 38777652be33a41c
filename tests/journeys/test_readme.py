"""What README.md tells a newcomer to type does what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.episodes.api.client import ApiClient
from tests.factories import make_app, make_key

README = Path(__file__).resolve().parent.parent.parent / "README.md"

pytestmark = pytest.mark.django_db


def test_a_session_goes_in_and_comes_back_as_precedent() -> None:
    requests = re.findall(r"/api/v1/(\w+) .*?-d '(.*?)'", README.read_text("utf-8"), re.DOTALL)
    (scopes,) = re.findall(r"apikey .*--scopes ([\w,]+)", README.read_text("utf-8"))
    client = ApiClient(make_key(make_app("billing-agent"), *scopes.split(","))[1])

    answers = [client.post(path, body.encode()) for path, body in requests]

    assert [path for path, _ in requests] == ["sessions", "search"]
    written, found = answers
    assert (written.status, written.body["status"]) == (201, "created")
    assert (written.body["outcome"], written.body["outcome_source"]) == ("success", "agent_claim")
    assert found.status == 200
    assert [memory["episode_id"] for memory in found.body["memories"]] == [
        written.body["episode_id"]
    ]
    assert "APPROVAL_REQUIRED" in found.body["context"]
