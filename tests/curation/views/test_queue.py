"""The page of the queue: the list, the item beside it, and what a role may do there."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from episodes import lifecycle
from episodes.enums import Rating, Role
from episodes.feedback import record_feedback
from episodes.lifecycle import Statement
from episodes.models import App, Episode
from tests.curation.cast import make_member, member_client, sign_in
from tests.curation.recalls import make_recall
from tests.curation.views.page import Page
from tests.factories import ACTOR, make_app, make_episode

HTMX = {"HX-Request": "true"}


@pytest.fixture
def reviewer(app: App) -> Client:
    return member_client(app, Role.REVIEWER)


def read(client: Client, app: App, path: str = "", **headers: str) -> Page:
    return Page(client.get(f"/apps/{app.name}/queue/{path}", headers=headers))


def rows(page: Page) -> list[str]:
    return [
        link["href"].split("/queue/")[1].strip("/") for link in page.all("a", class_="row-link")
    ]


def rate(episode: Episode, rating: str, comment: str = "") -> None:
    record_feedback(
        app=episode.app,
        user_id=episode.user_id or "",
        session_id=episode.session_id or "",
        rating=rating,
        comment=comment,
        actor=ACTOR,
    )


def test_the_list_is_in_order_of_impact_and_its_first_item_is_open(
    app: App, reviewer: Client
) -> None:
    quiet = make_episode(app, outcome=None, goal="Cancel the subscription of the old account")
    asked = make_episode(app, outcome=None, embedded=True)
    make_recall(app)

    page = read(reviewer, app)

    assert rows(page) == [str(asked.id), str(quiet.id)]
    assert [item["data-episode"] for item in page.all("article")] == [str(asked.id)]
    assert page.texts("a", class_="row-link", aria_current="true") == [
        "Refund the 640 dollar duplicate charge on invoice 8812."
    ]


def test_the_impact_is_shown_term_by_term(app: App, reviewer: Client) -> None:
    rate(make_episode(app, outcome="success", embedded=True), Rating.NEGATIVE)
    make_recall(app)

    [impact] = read(reviewer, app).all("dl", class_="impact")

    assert " ".join(impact.text.split()) == (
        "Impact 2.69 1 recall 0.69 not contradicted 0.00 feedback disagrees 1.00 not held 0.00 "
        "today 1.00"
    )


def test_the_item_stands_beside_its_trace_and_feedback(app: App, reviewer: Client) -> None:
    episode = make_episode(app, outcome=None, tools=("get_charge", "refund"), error="DECLINED")
    rate(episode, Rating.NEGATIVE, "The money never came.")

    page = read(reviewer, app, f"{episode.id}/")

    assert page.texts(class_="tool") == ["get_charge", "refund"]
    assert "DECLINED" in page.text
    assert "The money never came." in page.text
    assert page.texts("summary", data_key="a") == ["Accept as failure a"]


def test_only_the_newest_feedback_that_proposes_something_has_the_key(
    app: App, reviewer: Client
) -> None:
    episode = make_episode(app, outcome=None)
    for rating in (Rating.POSITIVE, Rating.NEGATIVE, Rating.NEUTRAL):
        rate(episode, rating)

    page = read(reviewer, app, f"{episode.id}/")

    assert [text for text in page.texts("summary") if text.startswith("Accept")] == [
        "Accept as failure a",
        "Accept as success",
    ]


def test_every_outcome_has_its_key(app: App, reviewer: Client) -> None:
    make_episode(app, outcome=None)

    labels = read(reviewer, app).all("label", class_="choice")

    assert [(label["data-key"], label["data-kind"]) for label in labels] == [
        ("1", "success"),
        ("2", "partial"),
        ("3", "failure"),
        ("4", "escalated"),
        ("5", "abandoned"),
        ("6", "unknown"),
    ]


def test_a_fragment_is_the_desk_alone(app: App, reviewer: Client) -> None:
    episode = make_episode(app, outcome=None)

    page = read(reviewer, app, f"{episode.id}/", **HTMX)

    assert page.all("html") == []
    assert page.all("ol", data_walk="opens") == []
    assert [item["data-episode"] for item in page.all("article")] == [str(episode.id)]


def test_who_may_not_decide_reads_without_forms(app: App, viewer: Client) -> None:
    rate(make_episode(app, outcome=None), Rating.NEGATIVE)

    page = read(viewer, app)

    assert [form["action"] for form in page.all("form") if "/queue/" in form["action"]] == []
    assert "one needs the role reviewer or curator" in page.text


def ways_to_decide(page: Page) -> list[str]:
    """The buttons of the form in their order; Enter presses the first."""
    return [e.text.strip() for e in page.all("button") if e.text.strip() in {"Decide", "Settle it"}]


def test_only_a_curator_can_settle(app: App, reviewer: Client) -> None:
    make_episode(app, outcome=None)
    curator = member_client(app, Role.CURATOR)

    assert ways_to_decide(read(reviewer, app)) == ["Decide"]
    assert ways_to_decide(read(curator, app)) == ["Decide", "Settle it"]


def test_where_a_person_has_judged_a_curator_settles_first(app: App, reviewer: Client) -> None:
    episode = make_episode(app, outcome=None)
    lifecycle.state_outcome(
        episode=episode, statement=Statement("failure", "reviewer"), actor=ACTOR
    )
    curator = member_client(app, Role.CURATOR)

    page = read(curator, app, f"{episode.id}/")

    assert ways_to_decide(page) == ["Settle it", "Decide"]
    assert ways_to_decide(read(reviewer, app, f"{episode.id}/")) == ["Decide"]


def test_an_item_that_does_not_wait_says_so(app: App, reviewer: Client) -> None:
    episode = make_episode(app, outcome="success")

    page = read(reviewer, app, f"{episode.id}/")

    assert page.status == 200
    assert "does not wait any more" in page.text


def test_an_empty_queue_says_what_would_come(app: App, reviewer: Client) -> None:
    page = read(reviewer, app)

    assert "Nothing waits" in page.text
    assert page.all("article") == []
    assert "Show all that waits" in read(reviewer, app, "?why=contradicted").text


def test_the_queue_is_narrowed_and_its_links_stay_narrow(app: App, reviewer: Client) -> None:
    make_episode(app, outcome=None)
    claimed = make_episode(app, outcome="success", may_verify=False)
    rate(claimed, Rating.NEGATIVE)

    page = read(reviewer, app, "?why=disputed")

    assert rows(page) == [f"{claimed.id}/?why=disputed"]
    assert "Feedback disagrees 1" in page.texts("a", aria_current="true")


def test_what_comes_further_down_is_on_another_page(app: App, reviewer: Client) -> None:
    for number in range(53):
        make_episode(app, outcome=None, session_id=f"s{number}")

    first = read(reviewer, app)
    [further] = [link["href"] for link in first.all("a", rel="next")]
    second = Page(reviewer.get(further))

    assert (len(rows(first)), len(rows(second))) == (50, 3)
    assert "From the top" in second.text


@pytest.mark.parametrize("path", ["?page=x", "?page=%00", "0190b0a0-0000-7000-8000-000000000000/"])
def test_what_is_not_there_is_not_found(app: App, reviewer: Client, path: str) -> None:
    assert read(reviewer, app, path).status == 404


def test_neither_open_nor_foreign_episodes_are_items(app: App, reviewer: Client) -> None:
    foreign = make_episode(make_app(), outcome=None)
    still_open = make_episode(app, outcome=None, final=False)

    for episode in (foreign, still_open):
        assert read(reviewer, app, f"{episode.id}/").status == 404


def test_an_odd_reason_in_the_address_is_none(app: App, reviewer: Client) -> None:
    make_episode(app, outcome=None)

    assert len(rows(read(reviewer, app, "?why=<script>"))) == 1


@pytest.mark.parametrize("n", [1, 50])
def test_a_page_asks_as_much_for_many_rows_as_for_one(app: App, n: int) -> None:
    client = sign_in(make_member(app, Role.REVIEWER))
    for number in range(n):
        episode = make_episode(app, outcome=None, session_id=f"s{number}", user_id=f"u{number}")
        rate(episode, Rating.NEGATIVE)

    with CaptureQueriesContext(connection) as asked:
        page = read(client, app)

    assert (len(asked), len(rows(page))) == (15, n)


def test_hostile_text_is_inert(app: App, reviewer: Client) -> None:
    goal = "Refund <script>alert(1)</script> \u202e it all, please"
    episode = make_episode(app, outcome=None, goal=goal)
    rate(episode, Rating.NEGATIVE, '<img src=x onerror="alert(1)">')

    source = read(reviewer, app).source

    assert "<script>alert" not in source
    assert "<img src=x" not in source
    assert "\u202e" not in source


def test_an_episodes_own_page_leads_to_its_decision(app: App, viewer: Client) -> None:
    episode = make_episode(app, outcome="success")
    still_open = make_episode(app, outcome=None, final=False)
    reviewer = sign_in(make_member(app, Role.REVIEWER))

    def leads(client: Client, of: Episode) -> list[str]:
        page = Page(client.get(f"/apps/{app.name}/episodes/{of.id}/"))
        return [link["href"] for link in page.all("a", data_key="d")]

    assert leads(reviewer, episode) == [f"/apps/{app.name}/queue/{episode.id}/"]
    assert leads(reviewer, still_open) == leads(viewer, episode) == []
