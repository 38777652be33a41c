"""The recall log: who may read it, how it is narrowed, and what a recall says about then and now."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from episodes import lifecycle, recall
from episodes.enums import BlockKind, Role
from episodes.keys.lookup import authenticate
from episodes.lifecycle import Statement
from episodes.models import App, AuditEntry, AuditPayload, Episode, Recall, RecallHit
from memoryadmin.lib import clock
from tests.curation.cast import member_client
from tests.curation.recalls import make_recall
from tests.curation.views.page import Page
from tests.factories import ACTOR, GOAL, make_app, make_episode, make_key, make_session, make_steps

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def read(client: Client, app: App, path: str = "") -> Page:
    return Page(client.get(f"/apps/{app.name}/recalls/{path}"))


def listed(client: Client, app: App, query: str = "") -> list[str]:
    page = read(client, app, query)
    assert page.status == 200, page.source
    return [link["href"].split("/")[-2] for link in page.all("a", class_="row-link")]


def say(episode: Episode, outcome: str, source: str) -> None:
    lifecycle.state_outcome(episode=episode, statement=Statement(outcome, source), actor=ACTOR)


def fates(page: Page) -> list[str]:
    known = ("Since deleted", "Since blocked", "Since corrected", "Since revised", "As it was")
    return [text for text in page.texts("span", class_="badge") if text in known]


def test_the_log_is_newest_first_and_of_one_app(app: App, compliance: Client) -> None:
    first = make_recall(app)
    second = make_recall(app)
    make_recall(make_app())

    assert listed(compliance, app) == [second, first]


def test_a_row_shows_what_was_given_as_it_was_then(app: App, compliance: Client) -> None:
    episode = make_episode(app, outcome="success", embedded=True)
    make_recall(app, session_id="run-2")
    say(episode, "failure", "reviewer")

    page = read(compliance, app)

    assert page.texts("span", class_="badge") == ["Success"]
    assert page.texts("td", class_="subject") == ["user-1 run-2"]


@pytest.fixture
def log(app: App) -> dict[str, str]:
    """Three recalls that differ in everything that can be filtered by."""
    with clock.at(NOW - timedelta(days=9)):
        make_episode(app, embedded=True)
        given = make_recall(app, user_id="user-1", session_id="run-1")
    App.objects.filter(pk=app.pk).update(control_share=1.0)
    with clock.at(NOW - timedelta(days=5)):
        control = make_recall(app, user_id="user-10", session_id="run-10", query="other words")
    App.objects.filter(pk=app.pk).update(control_share=0.0, generation=None)
    with clock.at(NOW - timedelta(days=1)):
        degraded = make_recall(app, user_id="user-1", session_id=None)
    return {"given": given, "control": control, "degraded": degraded}


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["degraded", "control", "given"]),
        ("?session_id=run-1", ["given"]),
        ("?user_id=user-1", ["degraded", "given"]),
        ("?degraded=yes", ["degraded"]),
        ("?degraded=no", ["control", "given"]),
        ("?arm=control", ["control"]),
        ("?arm=treatment", []),
        ("?arm=none", ["degraded", "given"]),
        ("?since=2026-05-27", ["degraded", "control"]),
        ("?user_id=user-1&degraded=yes", ["degraded"]),
        ("?session_id=run", []),
        ("?session_id=run-1+", []),
        ("?user_id=user_1", []),
    ],
)
def test_the_log_is_narrowed(
    app: App, compliance: Client, log: dict[str, str], query: str, names: list[str]
) -> None:
    assert listed(compliance, app, query) == [log[name] for name in names]


def test_the_log_is_narrowed_to_what_was_given_an_episode(
    app: App, compliance: Client, log: dict[str, str]
) -> None:
    hit = RecallHit.objects.filter(app_id=app.id, recall_id=log["given"]).get()
    wanted = [log["degraded"], log["given"]]

    assert listed(compliance, app, f"?episode={hit.episode_id}") == wanted
    assert listed(compliance, app, f"?episode={uuid4()}") == []


def test_a_filter_that_is_on_can_be_taken_off(app: App, compliance: Client) -> None:
    page = read(compliance, app, "?user_id=nobody&arm=control")

    assert "No recall matches" in page.text
    assert [
        link["href"].partition("?")[2]
        for link in page.all("a")
        if link["aria-label"].startswith("Remove")
    ] == ["arm=control", "user_id=nobody"]


@pytest.mark.parametrize(
    "query", ["?episode=x", "?since=yesterday", "?arm=left", "?degraded=maybe"]
)
def test_a_filter_that_cannot_be_read_is_said(app: App, compliance: Client, query: str) -> None:
    page = read(compliance, app, query)

    assert page.status == 422
    assert len(page.all("div", role="alert")) == 1


def test_a_cut_cursor_is_no_page(app: App, compliance: Client) -> None:
    assert read(compliance, app, "?page=x").status == 404


def test_every_recall_is_on_one_page(app: App, compliance: Client) -> None:
    made = [make_recall(app) for _ in range(53)]
    first = read(compliance, app)
    [older] = [link["href"] for link in first.all("a", rel="next")]

    assert listed(compliance, app) + listed(compliance, app, older) == made[::-1]


@pytest.mark.parametrize("n", [1, 50])
def test_the_log_asks_as_much_for_many_rows_as_for_one(
    app: App, compliance: Client, n: int
) -> None:
    make_episode(app, embedded=True)
    for _ in range(n):
        make_recall(app)

    with CaptureQueriesContext(connection) as asked:
        rows = listed(compliance, app)

    assert (len(asked), len(rows)) == (11, n)


@pytest.mark.parametrize("n", [1, 10])
def test_a_recall_asks_as_much_for_many_candidates_as_for_one(
    app: App, compliance: Client, n: int
) -> None:
    for number in range(n):
        make_episode(app, tools=(f"tool_{number}",), embedded=number == n - 1)
    found = make_recall(app, session_id="run")

    with CaptureQueriesContext(connection) as asked:
        assert read(compliance, app, f"{found}/").status == 200

    assert len(asked) == 18


def test_both_reads_are_recorded(app: App, compliance: Client) -> None:
    found = make_recall(app, session_id="run-1")

    read(compliance, app, "?user_id=user-1&session_id=run-1&arm=none")
    read(compliance, app, f"{found}/")

    log, one = AuditEntry.objects.filter(actor="compliance").order_by("at", "id")
    payloads = AuditPayload.objects.in_bulk([log.id, one.id])
    assert (log.verb, log.role, log.target_kind) == ("recalls.read", "compliance", "recall_log")
    assert payloads[log.id].user_id == "user-1"
    assert payloads[log.id].payload["after"] == {
        "session_id": "given",
        "user_id": "given",
        "arm": "none",
    }
    assert (one.verb, one.target_kind, one.target_id) == ("recall.read", "recall", found)
    assert (payloads[one.id].user_id, "run-1" in payloads[one.id].canonical) == ("user-1", False)


def test_a_refused_read_is_no_read(app: App, viewer: Client) -> None:
    found = make_recall(app)

    assert [read(viewer, app, path).status for path in ("", f"{found}/")] == [403, 403]
    assert not AuditEntry.objects.filter(actor="viewer").exists()


def test_another_apps_recall_is_not_found(app: App, compliance: Client) -> None:
    foreign = make_recall(make_app())

    assert read(compliance, app, f"{foreign}/").status == 404
    assert read(compliance, app, f"{uuid4()}/").status == 404


def test_a_recall_shows_every_factor(app: App, compliance: Client) -> None:
    with clock.at(NOW - timedelta(days=90)):
        make_episode(app, outcome="success", embedded=True)
    with clock.at(NOW):
        found = make_recall(app)
        page = read(compliance, app, f"{found}/")

    hit = RecallHit.objects.get(app_id=app.id)
    cells = page.all("td", class_="factor")
    assert [(cell["data-factor"], " ".join(cell.text.split())) for cell in cells] == [
        ("similarity", f"{hit.similarity:.3f}"),
        ("text", f"{hit.text:.3f}"),
        ("relevance", f"{hit.relevance:.3f}"),
        ("outcome_weight", "1.000"),
        ("toolset_weight", "0.700 not comparable"),
        ("decay", "0.368 90 d"),
        ("score", f"{hit.score:.3f}"),
    ]


def test_a_recall_shows_what_was_left_out_and_why(app: App, compliance: Client) -> None:
    make_episode(app, outcome="success", tools=("get_charge", "refund"))
    make_episode(app, outcome="success", tools=("refund", "notify"))
    for _ in range(2):
        make_episode(app, outcome="success", tools=("refund",))
    make_episode(app, outcome="failure", tools=("cancel",), goal="Cancel the refund of invoice 99.")
    make_episode(app, outcome="success", goal="Paint the garden fence green.", embedded=True)
    found = make_recall(app)

    page = read(compliance, app, f"{found}/")

    reasons = set(page.texts("span", class_="second"))
    assert reasons == {
        "Something better took its place",
        "Did the same as one that was served, and ended alike",
        "A failure, and not near enough for one",
        "Not near enough",
    }
    # what is computed of those that were left out is what the search had computed
    scores = [float(c.text) for c in page.all("td", data_factor="score")]
    stored = [h.score for h in RecallHit.objects.order_by("rank")]
    stored += [left["score"] for left in Recall.objects.get().excluded]
    assert scores == [round(score, 3) for score in stored]


def test_what_was_given_is_compared_with_now(app: App, compliance: Client) -> None:
    episode = make_episode(app, outcome="success", session_id="run", embedded=True)
    found = make_recall(app)
    assert fates(read(compliance, app, f"{found}/")) == ["As it was"]

    say(episode, "failure", "reviewer")
    assert fates(read(compliance, app, f"{found}/")) == ["Since corrected"]

    make_episode(
        app,
        session_id="run",
        session=make_session(steps=make_steps(("refund", "notify"))),
        outcome="success",
        embedded=True,
    )
    lifecycle.block_episode(episode=episode, kind=BlockKind.QUARANTINE, actor=ACTOR)
    page = read(compliance, app, f"{found}/")
    assert fates(page) == ["Since blocked", "Since corrected", "Since revised"]
    assert page.all("a", class_="row-link")[0]["href"].endswith(f"/{episode.id}/?revision=1")


def test_what_is_gone_is_still_in_the_log(app: App, compliance: Client) -> None:
    with clock.at(NOW - timedelta(days=179)):
        episode = make_episode(app, outcome="success", embedded=True)
    with clock.at(NOW):
        found = make_recall(app)
    with clock.at(NOW + timedelta(days=2)):
        page = read(compliance, app, f"{found}/")

    assert fates(page) == ["Since deleted"]
    assert GOAL not in page.source.split("<table")[1]
    assert str(episode.id) in page.source


def test_it_shows_what_the_agent_read_word_for_word(app: App, compliance: Client) -> None:
    episode = make_episode(app, outcome="success", embedded=True)
    caller = authenticate(make_key(app)[1])
    assert caller is not None
    answer: dict[str, Any] = recall.search(
        caller=caller,
        request=recall.SearchRequest(user_id="user-1", query=GOAL),
        request_id="test",
    )
    say(episode, "failure", "reviewer")

    page = read(compliance, app, f"{answer['recall_id']}/")

    [shown] = page.all("pre", class_="as-read")
    assert shown.text.strip() == answer["memories"][0]["content"].strip()


def test_the_control_arm_says_that_it_was_given_nothing(app: App, compliance: Client) -> None:
    make_episode(app, embedded=True)
    App.objects.filter(pk=app.pk).update(control_share=1.0)
    found = make_recall(app, session_id="held-out")

    assert "held out for comparison" in read(compliance, app, f"{found}/").text


def test_how_the_searching_session_ended_stands_beside_it(app: App, compliance: Client) -> None:
    found = make_recall(app, session_id="run-7")
    ended = make_episode(app, outcome="escalated", session_id="run-7")
    make_episode(app, outcome="success", session_id="run-7", user_id="user-10")

    page = read(compliance, app, f"{found}/")

    [verdict] = page.all("p", class_="verdict")
    assert "Escalated" in verdict.text
    assert str(ended.id) in page.source


def test_hostile_text_is_inert(app: App, compliance: Client) -> None:
    make_episode(app, embedded=True)
    query = 'Refund <script>alert(1)</script> <img src=x onerror="alert(2)"> \u202e 640 dollar'
    found = make_recall(app, query=query, session_id='"><script>', agent_id="<b>")

    for page in (read(compliance, app), read(compliance, app, f"{found}/")):
        assert "<script>alert" not in page.source
        assert "<img src=x" not in page.source
        assert "\u202e" not in page.source


@pytest.mark.parametrize("role", [Role.VIEWER, Role.REVIEWER, Role.CURATOR, Role.ADMIN])
def test_only_compliance_reads_the_log(app: App, role: str) -> None:
    found = make_recall(app)
    client = member_client(app, role)

    assert [read(client, app, path).status for path in ("", f"{found}/")] == [403, 403]
    assert UUID(found) == Recall.objects.get().id


def test_another_apps_compliance_finds_nothing(app: App) -> None:
    found = make_recall(app)
    outsider = member_client(make_app(), Role.COMPLIANCE)

    assert [read(outsider, app, path).status for path in ("", f"{found}/")] == [404, 404]
