"""The page that hands out episodes as a file."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import orjson
import pytest
from django.test import Client

from episodes.enums import BlockKind
from episodes.export.places import NoPlaceError
from episodes.lifecycle import block_episode
from episodes.models import App, AuditEntry, AuditPayload
from memoryadmin.lib import clock
from tests.curation.cast import member_client
from tests.curation.views.page import Page
from tests.episodes.export.lines import export_of
from tests.factories import ACTOR, make_app, make_episode


def address(app: App, rest: str = "") -> str:
    return f"/apps/{app.name}/settings/export/{rest}"


def download(client: Client, app: App, **asked: Any) -> list[dict[str, Any]]:
    answer = client.post(address(app, "file/"), asked)
    assert answer.status_code == 200, answer.content
    return [orjson.loads(line) for line in answer.getvalue().splitlines()]


def recorded() -> list[tuple[str, str, str | None]]:
    entries = AuditEntry.objects.filter(target_kind="export").order_by("at", "number")
    payloads = AuditPayload.objects.in_bulk([entry.id for entry in entries])
    return [(entry.verb, entry.role, payloads[entry.id].user_id) for entry in entries]


def test_the_file_is_the_same_stream_as_the_api_s(app: App, compliance: Client) -> None:
    make_episode(app, session_id="ours")
    make_episode(make_app(), session_id="foreign")
    assert "Download" in compliance.get(address(app)).content.decode()

    answer = compliance.post(address(app, "file/"))

    assert answer.headers["Content-Disposition"] == 'attachment; filename="billing-agent.ndjson"'
    assert "no-store" in answer.headers["Cache-Control"]
    lines = [orjson.loads(line) for line in answer.getvalue().splitlines()]
    assert [line["session_id"] for line in lines] == ["ours"]
    assert recorded() == [
        ("episodes.exported", "compliance", None),
        ("export_end.counted", "compliance", None),
    ]
    assert lines == export_of(app)


def test_it_narrows(app: App, compliance: Client) -> None:
    now = clock.now()
    make_episode(app, user_id="a ", session_id="old", completed_at=now - timedelta(days=9))
    make_episode(app, user_id="a", session_id="failed", outcome="failure")
    blocked = make_episode(app, user_id="a", session_id="blocked")
    block_episode(episode=blocked, kind=BlockKind.QUARANTINE, actor=ACTOR)
    week = (now - timedelta(days=7)).date().isoformat()

    def sessions(**asked: Any) -> list[str]:
        return [line["session_id"] for line in download(compliance, app, **asked)]

    assert sessions(user_id="a ") == ["old"]
    assert sessions(user_id="a") == ["failed", "blocked"]
    assert sessions(outcome=["failure", "partial"]) == ["failed"]
    assert sessions(since=week) == ["failed", "blocked"]
    assert sessions(until=week) == ["old"]
    assert sessions(blocked="yes") == ["blocked"]
    assert sessions(blocked="no") == ["old", "failed"]
    assert recorded()[0] == ("episodes.exported", "compliance", "a ")


@pytest.mark.parametrize(
    "asked", [{"since": "soon"}, {"outcome": "great"}, {"blocked": "x"}, {"user_id": "x" * 257}]
)
def test_what_does_not_fit_hands_out_nothing(
    app: App, compliance: Client, asked: dict[str, str]
) -> None:
    make_episode(app, session_id="ours")

    answer = compliance.post(address(app, "file/"), asked)

    assert (answer.status_code, recorded()) == (422, [])
    assert b'class="errors"' in answer.content


def test_where_there_is_no_place_it_says_so(
    app: App, compliance: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: Any) -> None:
        raise NoPlaceError

    monkeypatch.setattr("curation.views.export.begin_export", refuse)

    answer = compliance.post(address(app, "file/"), {"user_id": "user-1"})

    assert answer.status_code == 429
    assert "Enough exports are under way" in answer.content.decode()


@pytest.mark.parametrize("role", ["viewer", "reviewer", "curator", "admin"])
def test_no_other_role_takes_episodes_along(app: App, role: str) -> None:
    make_episode(app)

    answer = member_client(app, role).post(address(app, "file/"))

    assert (answer.status_code, recorded()) == (403, [])


def test_an_admin_sees_what_it_would_be_and_who_may(app: App) -> None:
    page = Page(member_client(app, "admin").get(address(app)))

    assert "one needs the role compliance" in page.text
    assert page.all("button", class_="button-primary") == []


def test_before_an_erasure_its_episodes_can_be_taken_along(app: App, compliance: Client) -> None:
    make_episode(app, user_id="user-1", session_id="ours")
    make_episode(app, user_id="user-2", session_id="foreign")

    asked = compliance.post(
        f"/apps/{app.name}/erasures/ask/", {"user_id": "user-1", "reason": "It asked for it."}
    )

    assert "Download its episodes" in asked.content.decode()
    assert [line["session_id"] for line in download(compliance, app, user_id="user-1")] == ["ours"]
    nothing = compliance.post(
        f"/apps/{app.name}/erasures/ask/", {"user_id": "nobody", "reason": "It asked for it."}
    )
    assert "Download its episodes" not in nothing.content.decode()
