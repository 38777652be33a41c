from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client

from episodes import lifecycle
from episodes.enums import BlockKind, Role
from episodes.erasure.request import request_erasure
from episodes.lifecycle import Statement
from episodes.models import App
from memoryadmin.lib import clock
from tests.curation.cast import make_member, sign_in
from tests.curation.recalls import make_recall
from tests.curation.views.page import Page
from tests.factories import ACTOR, make_app, make_episode


def figures(page: Page) -> dict[str, str]:
    [strip] = page.all("dl", class_="figures")
    names = [" ".join(e.text.split()) for e in page.elements if e.tag == "dt"][:5]
    values = [" ".join(e.text.split()) for e in page.elements if e.tag == "dd"][:5]
    assert strip.tag == "dl"
    return dict(zip(names, values, strict=True))


def waiting(page: Page) -> dict[str, str]:
    return {
        a["href"].removeprefix("/apps/billing-agent/"): a["data-n"]
        for a in page.all("a")
        if "data-n" in a.attributes
    }


def test_an_app_without_episodes_is_told_how_to_send_one(app: App, viewer: Client) -> None:
    page = Page(viewer.get(f"/apps/{app.name}/"))

    assert "has no episodes yet" in page.text
    assert "http://testserver/api/v1/sessions" in page.text


def test_the_figures_count_this_app_only(app: App, viewer: Client) -> None:
    make_episode(app, session_id="a", outcome="success")
    make_episode(app, session_id="b", outcome="success", may_verify=False)
    make_episode(app, session_id="c", outcome=None)
    make_episode(app, session_id="d", final=False)
    other = make_app("not-mine")
    make_episode(other, outcome="failure")
    make_recall(other)

    page = Page(viewer.get(f"/apps/{app.name}/"))

    assert figures(page) == {
        "Completed episodes": "3 3 in 30 days",
        "Not verified": "67 % 2 rest on a claim, or on nothing",
        "Recallable": "3 of 3",
        "Recalls": "0 in 30 days",
        "Answered with precedent": "– 0 of 0",
    }


def test_what_waits_leads_to_its_list(app: App, viewer: Client) -> None:
    blocked = make_episode(app, session_id="a", outcome="success")
    lifecycle.block_episode(episode=blocked, kind=BlockKind.QUARANTINE, actor=ACTOR)
    make_episode(app, session_id="b", outcome=None)
    decided = make_episode(app, session_id="e", outcome=None)
    unknown = Statement("unknown", "reviewer", reason="Nobody knows.")
    lifecycle.state_outcome(episode=decided, statement=unknown, actor=ACTOR)
    make_episode(app, session_id="c", final=False)

    page = Page(viewer.get(f"/apps/{app.name}/"))

    assert waiting(page) == {
        "queue/?why=unknown": "1",
        "episodes/?verified=no&state=completed": "1",
        "episodes/?state=contradicted": "0",
        "episodes/?review=changed_after_review": "0",
        "episodes/?state=held": "0",
        "episodes/?state=quarantined": "1",
        "episodes/?state=pending": "4",
        "episodes/?state=open": "1",
    }
    for question, n in waiting(page).items():
        listed = Page(viewer.get(f"/apps/{app.name}/{question}"))
        assert len(listed.all("a", class_="row-link")) == int(n), question


def test_what_is_hidden_is_in_no_figure(app: App, viewer: Client) -> None:
    """Of a subject that is being erased, or expired: the lists behind the figures have neither."""
    make_episode(app, session_id="seen", outcome="success")
    old = clock.now() - timedelta(days=200)
    hidden = [
        make_episode(app, session_id="expired", completed_at=old),
        make_episode(app, session_id="a", user_id="gone"),
    ]
    for episode in hidden:
        for kind in (BlockKind.HELD, BlockKind.QUARANTINE):
            lifecycle.block_episode(episode=episode, kind=kind, actor=ACTOR)
    make_recall(app, user_id="gone")
    request_erasure(app=app, user_id="gone", actor=ACTOR)

    page = Page(viewer.get(f"/apps/{app.name}/"))

    n = {question.rpartition("=")[2]: n for question, n in waiting(page).items()}
    assert (n["held"], n["quarantined"], n["pending"]) == ("0", "0", "1")
    assert figures(page)["Recalls"] == "0 in 30 days"
    [pending] = [a for a in page.texts("a") if a.startswith("Without a vector yet")]
    assert pending == "Without a vector yet · oldest just now 1"


def test_the_chart_has_its_table_behind_it(app: App, viewer: Client) -> None:
    with clock.at(clock.now() - timedelta(days=2)):
        make_episode(app, session_id="a", outcome="success")
    make_episode(app, session_id="b", outcome="failure")

    page = Page(viewer.get(f"/apps/{app.name}/?days=7"))

    assert len(page.all("g", class_="bar")) == 7
    cells = page.texts("td", class_="num")[:49]
    assert [cells[n : n + 7] for n in range(0, 49, 7)] == [
        ["0", "0", "1", "0", "0", "0", "1"],
        ["0"] * 7,
        ["1", "0", "0", "0", "0", "0", "1"],
        *[["0"] * 7] * 4,
    ]


@pytest.mark.parametrize("asked", ["8", "x", "", "-1", "30\0"])
def test_another_period_is_the_usual_one(app: App, viewer: Client, asked: str) -> None:
    make_episode(app)

    page = Page(viewer.get(f"/apps/{app.name}/", {"days": asked}))

    assert page.texts("a", aria_current="true") == ["billing-agent viewer", "30 days"]


def test_what_is_held_out_was_not_answered(app: App, viewer: Client) -> None:
    make_episode(app, outcome="success", embedded=True)
    make_recall(app)
    App.objects.filter(pk=app.pk).update(control_share=1.0)
    make_recall(app, session_id="run-2")

    page = Page(viewer.get(f"/apps/{app.name}/"))

    assert figures(page)["Answered with precedent"] == "50 % 1 of 2, 1 held out"
    assert page.texts("td", data_label="served") == ["0", "1"]


@pytest.mark.parametrize("role", [*Role.values, "superuser"])
def test_nobody_is_shown_what_was_asked_for(app: App, role: str) -> None:
    """That is read on pages that record who looked; those who may open them are led there."""
    recall = make_recall(app, query="refund a secret amount", agent_id="billing-bot")
    make_episode(app)
    is_root = role == "superuser"
    client = sign_in(User.objects.create_superuser("root") if is_root else make_member(app, role))

    page = Page(client.get(f"/apps/{app.name}/"))

    links = {a["href"] for a in page.all("a")}
    assert "refund a secret amount" not in page.source
    assert "billing-bot" in page.text
    assert (f"/apps/{app.name}/recalls/{recall}/" in links) == (is_root or role == "compliance")


@pytest.mark.parametrize("n", [1, 50])
def test_the_number_of_queries_is_fixed(
    app: App, viewer: Client, n: int, django_assert_num_queries: object
) -> None:
    for number in range(n):
        make_episode(app, session_id=f"s{number}")
        make_recall(app)
    viewer.get(f"/apps/{app.name}/")

    with django_assert_num_queries(10):  # type: ignore[operator]
        viewer.get(f"/apps/{app.name}/")
