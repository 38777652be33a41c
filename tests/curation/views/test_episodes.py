from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from episodes import lifecycle
from episodes.enums import BlockKind, OutcomeSource
from episodes.lifecycle import Statement
from episodes.models import App, Episode
from memoryadmin.lib import clock
from tests.curation.recalls import make_recall
from tests.curation.views.page import Page
from tests.factories import ACTOR, make_app, make_episode

HTMX = {"HX-Request": "true"}


def read(client: Client, app: App, query: str = "", **headers: str) -> Page:
    return Page(client.get(f"/apps/{app.name}/episodes/{query}", headers=headers))


def listed(client: Client, app: App, query: str = "") -> list[str]:
    """Return the sessions on the page, in order."""
    page = read(client, app, query)
    assert page.status == 200, page.text
    rows = list(page.all("td", class_="subject"))
    return [row.text.split()[-1] for row in rows]


def say(episode: Episode, outcome: str, source: str) -> None:
    lifecycle.state_outcome(episode=episode, statement=Statement(outcome, source), actor=ACTOR)


def test_the_newest_comes_first_and_nothing_foreign(app: App, viewer: Client) -> None:
    make_episode(app, session_id="first")
    make_episode(app, session_id="second")
    make_episode(make_app("not-mine"), session_id="foreign")

    assert listed(viewer, app) == ["second", "first"]


@pytest.fixture
def store(app: App) -> App:
    """Three episodes that differ in everything that can be filtered by."""
    began = datetime(2026, 3, 1, tzinfo=UTC)
    with clock.at(began):
        plain = make_episode(
            app,
            session_id="plain",
            user_id="user-1",
            agent_id="bot-1",
            task_id="task-1",
            issue_type="refund",
            tags=("vip",),
            toolset_version="v1",
            goal="Refund the duplicate charge",
            tools=("get_charge", "refund"),
            error="APPROVAL_REQUIRED",
            outcome="failure",
        )
    with clock.at(began + timedelta(days=1)):
        claimed = make_episode(
            app,
            session_id="claimed",
            user_id="user-10",
            goal="Cancel the subscription of a customer",
            tools=("cancel",),
            outcome="success",
            may_verify=False,
        )
    with clock.at(began + timedelta(days=2)):
        make_episode(
            app,
            session_id="open",
            user_id="user_1",
            goal="Change the billing address now",
            tools=("Refund",),
            outcome=None,
            final=False,
        )
        lifecycle.block_episode(episode=plain, kind=BlockKind.QUARANTINE, actor=ACTOR)
        say(claimed, "partial", OutcomeSource.REVIEWER)
        say(claimed, "failure", OutcomeSource.AGENT_CLAIM)
    return app


AT = datetime(2026, 3, 4, tzinfo=UTC)
EVERY = ["open", "claimed", "plain"]


@pytest.mark.parametrize(
    ("query", "sessions"),
    [
        ("?", EVERY),
        ("?outcome=failure", ["plain"]),
        ("?outcome=failure&outcome=partial", ["claimed", "plain"]),
        ("?source=tool", ["plain"]),
        ("?source=none", ["open"]),
        ("?source=none&source=reviewer", ["open", "claimed"]),
        ("?verified=yes", ["claimed", "plain"]),
        ("?verified=no", ["open"]),
        ("?review=reviewed", ["claimed"]),
        ("?review=unreviewed", ["open", "plain"]),
        ("?state=open", ["open"]),
        ("?state=completed", ["claimed", "plain"]),
        ("?state=recallable", ["claimed"]),
        ("?state=blocked", ["plain"]),
        ("?state=quarantined", ["plain"]),
        ("?state=held", []),
        ("?state=pending", EVERY),
        ("?state=contradicted", ["claimed"]),
        ("?tool=refund", ["plain"]),
        ("?tool=Refund", ["open"]),
        ("?error=APPROVAL_REQUIRED", ["plain"]),
        ("?error=APPROVAL", []),
        ("?user_id=user-1", ["plain"]),
        ("?user_id=user_1", ["open"]),
        ("?user_id=user%25", []),
        ("?session_id=claimed", ["claimed"]),
        ("?task_id=task-1", ["plain"]),
        ("?agent_id=bot-1", ["plain"]),
        ("?issue_type=refund", ["plain"]),
        ("?tag=vip", ["plain"]),
        ("?toolset=v1", ["plain"]),
        ("?since=2026-03-02", ["claimed"]),
        ("?until=2026-03-02", ["plain"]),
        ("?sort=completed", ["claimed", "plain"]),
        ("?q=charge", ["plain"]),
        ("?q=duplicate+charge+refund", ["plain"]),
        ("?q=duplicate+subscription", []),
        ("?q=approval_required", ["plain"]),
        ("?q=get_charge", ["plain"]),
        ("?q=cancel&outcome=partial", ["claimed"]),
        ("?tool=refund&outcome=success", []),
    ],
)
def test_a_filter_in_the_address_narrows_the_list(
    store: App, viewer: Client, query: str, sessions: list[str]
) -> None:
    with clock.at(AT):
        assert listed(viewer, store, query) == sessions


def test_an_episode_is_found_by_its_id(app: App, viewer: Client) -> None:
    episode = make_episode(app, session_id="mine")
    make_episode(app, session_id="other")

    assert listed(viewer, app, f"?q={episode.id}") == ["mine"]


def test_the_same_procedure_is_found(app: App, viewer: Client) -> None:
    episode = make_episode(app, session_id="a", tools=("get", "put"))
    make_episode(app, session_id="b", tools=("get", "put"))
    make_episode(app, session_id="c", tools=("put", "get"))

    assert listed(viewer, app, f"?procedure={episode.procedure_key}") == ["b", "a"]


@pytest.mark.parametrize(("sort", "by"), [("received", "received"), ("completed", "completed")])
def test_the_table_says_how_it_is_ordered(app: App, viewer: Client, sort: str, by: str) -> None:
    make_episode(app)

    page = Page(viewer.get(f"/apps/{app.name}/episodes/?sort={sort}"))

    assert page.texts("caption") == [f"Episodes, the last {by} first"]


def test_what_has_expired_is_gone(app: App, viewer: Client) -> None:
    make_episode(app, session_id="old", completed_at=clock.now() - timedelta(days=200))
    make_episode(app, session_id="new")

    assert listed(viewer, app) == ["new"]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("?outcome=excellent", "Outcome"),
        ("?since=yesterday", "Completed since"),
        ("?state=%00", "State"),
        ("?user_id=a%00b", "Subject"),
        ("?q=%00", "Search"),
        (f"?user_id={'u' * 257}", "Subject"),
        ("?sort=random", "Order"),
    ],
)
def test_a_filter_that_is_none_is_told(app: App, viewer: Client, query: str, field: str) -> None:
    make_episode(app)

    page = read(viewer, app, query)

    assert page.status == 422
    assert page.texts(role="alert")[0].startswith(field)
    assert page.all("a", class_="row-link") == []


@pytest.mark.parametrize("page", ["x", "%00", "Zg", "f" * 500])
def test_a_cut_link_is_no_page(app: App, viewer: Client, page: str) -> None:
    assert viewer.get(f"/apps/{app.name}/episodes/?page={page}").status_code == 404


def test_filters_that_are_on_can_be_taken_off_one_by_one(store: App, viewer: Client) -> None:
    page = read(viewer, store, "?outcome=failure&outcome=partial&tool=refund&q=charge")

    chips = page.texts("span", class_="chip")
    removers = [a["href"] for a in page.all("a") if a["aria-label"].startswith("Remove the filter")]

    assert chips == ["Outcome Failure", "Outcome Partial", "Tool refund"]
    here = f"/apps/{store.name}/episodes/"
    assert removers == [
        f"{here}?outcome=partial&tool=refund&q=charge",
        f"{here}?outcome=failure&tool=refund&q=charge",
        f"{here}?outcome=failure&outcome=partial&q=charge",
    ]


def test_the_usual_question_that_is_asked_is_marked(app: App, viewer: Client) -> None:
    def marked(query: str) -> list[str]:
        page = read(viewer, app, query)
        return [a.text for a in page.all("a", aria_current="true") if a["href"].count("?")]

    assert marked("?") == ["All"]
    assert marked("?sort=completed") == ["All"]
    assert marked("?outcome=failure") == ["Failures"]
    assert marked("?outcome=failure&tool=x") == []


def test_pages_keep_the_filters(app: App, viewer: Client) -> None:
    for number in range(52):
        make_episode(app, session_id=f"s{number}", outcome="failure")

    first = read(viewer, app, "?outcome=failure")
    [older] = first.all("a", rel="next")
    second = Page(viewer.get(f"/apps/{app.name}/episodes/{older['href']}"))

    assert "52 episodes" in first.texts("p", role="status")
    assert len(first.all("a", class_="row-link")) == 50
    assert len(second.all("a", class_="row-link")) == 2
    assert second.texts("span", class_="chip") == ["Outcome Failure"]
    assert second.all("a", rel="next") == []
    assert len(second.all("a", rel="prev")) == 1


def test_the_address_is_kept_short(store: App, viewer: Client) -> None:
    path = f"/apps/{store.name}/episodes/"
    long = "?q=&outcome=failure&state=&tool=refund&sort=received"

    plain = viewer.get(path + long)
    pushed = viewer.get(path + long, headers=HTMX)

    assert plain.headers["Location"] == f"{path}?outcome=failure&tool=refund"
    assert pushed.headers["HX-Push-Url"] == f"{path}?outcome=failure&tool=refund"
    assert viewer.get(f"{path}?q=").headers["Location"] == path


def test_htmx_gets_the_rows_and_no_page_around_them(app: App, viewer: Client) -> None:
    make_episode(app, session_id="mine")

    fragment = read(viewer, app, "?outcome=success", **HTMX)

    assert fragment.all("html") == []
    assert len(fragment.all("a", class_="row-link")) == 1
    assert [e["id"] for e in fragment.elements if e["hx-swap-oob"]] == ["presets"]


def test_what_a_row_says(app: App, viewer: Client) -> None:
    episode = make_episode(
        app,
        session_id="s-1",
        user_id="cus-1",
        goal="Refund the duplicate charge",
        tools=("get_charge", "refund"),
        error="LIMIT",
        outcome="success",
        may_verify=False,
        embedded=True,
    )
    make_recall(app, query="Refund the duplicate charge", user_id="cus-1", session_id="s-2")

    page = read(viewer, app)

    [row] = page.all("tr", id=f"episode-{episode.id}")
    assert [" ".join(e.text.split()) for e in page.all("td")] == [
        "Success",
        "Refund the duplicate charge get_charge › refund LIMIT",
        "cus-1 s-1",
        "Agent claim",
        "1",
        page.all("time")[0].text,
    ]
    assert 'data-kind="success" data-trust="claim"' in page.source
    assert row.tag == "tr"


def test_an_empty_list_says_what_to_do(app: App, viewer: Client) -> None:
    assert "No episodes yet" in read(viewer, app).text
    make_episode(app)
    assert "No episode matches" in read(viewer, app, "?outcome=failure").text
    assert "no word to look for" in read(viewer, app, "?q=the").text


def test_names_are_suggested(app: App, viewer: Client) -> None:
    make_episode(app, tools=("refund", "get_charge"), error="LIMIT")
    make_episode(make_app("not-mine"), tools=("foreign",))

    page = read(viewer, app)

    assert [o["value"] for o in page.all("option") if o["value"]] == [
        "get_charge",
        "refund",
        "LIMIT",
        "received",
        "completed",
    ]


@pytest.mark.parametrize("n", [1, 50])
def test_the_number_of_queries_is_fixed(
    app: App, viewer: Client, n: int, django_assert_num_queries: Any
) -> None:
    for number in range(n):
        make_episode(app, session_id=f"s{number}")
    viewer.get(f"/apps/{app.name}/episodes/")

    with django_assert_num_queries(9):
        read(viewer, app, "?q=refund&tool=refund&state=completed")
    with django_assert_num_queries(7):
        read(viewer, app, "?q=refund", **HTMX)


def test_only_get_is_answered(app: App, viewer: Client) -> None:
    assert viewer.post(f"/apps/{app.name}/episodes/").status_code == 405
