"""Deciding, accepting and undoing by plain forms and by htmx: what changes and what is answered."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from episodes import lifecycle
from episodes.enums import Rating, Role
from episodes.erasure.request import request_erasure
from episodes.feedback import record_feedback
from episodes.lifecycle import Statement
from episodes.models import App, AuditEntry, Episode, Feedback, OutcomeEntry
from memoryadmin.lib import clock
from tests.curation.cast import make_member, member_client, sign_in
from tests.curation.views.page import Page
from tests.factories import ACTOR, make_app, make_episode, make_tombstone

HTMX = {"HX-Request": "true"}
ACTS = ("decide", "accept", "undo")


@pytest.fixture
def reviewer(app: App) -> Client:
    return sign_in(make_member(app, Role.REVIEWER, "anna"))


@pytest.fixture
def episode(app: App) -> Episode:
    return make_episode(app, outcome=None, session_id="run")


def url(episode: Episode, act: str = "") -> str:
    return f"/apps/{episode.app.name}/queue/{episode.id}/{act}{'/' if act else ''}"


def form_of(client: Client, episode: Episode, act: str) -> dict[str, str]:
    """Return what the form on the page would send, as a browser without script reads it."""
    page = Page(client.get(url(episode)))
    sent: dict[str, str] = {}
    inside = False
    for element in page.elements:
        if element.tag == "form":
            inside = element["action"] == url(episode, act)
        if inside and element.tag == "input" and element["type"] not in ("radio", "checkbox"):
            sent[element["name"]] = element["value"]
    assert sent, f"there is no form to {act}"
    return sent


def decide(client: Client, episode: Episode, **members: str) -> Any:
    sent = form_of(client, episode, "decide")
    return client.post(url(episode, "decide"), {**sent, "reason": "As read.", **members})


def feedback_on(episode: Episode, rating: str = Rating.NEGATIVE) -> Feedback:
    return record_feedback(
        app=episode.app,
        user_id=episode.user_id or "",
        session_id=episode.session_id or "",
        rating=rating,
        actor=ACTOR,
    )[0]


def outcome(episode: Episode) -> tuple[str, str | None]:
    episode.refresh_from_db()
    return episode.outcome, episode.outcome_source


def acts_of(name: str) -> list[str]:
    return list(AuditEntry.objects.filter(actor=name).order_by("at").values_list("verb", flat=True))


def test_without_script_a_decision_leads_to_the_next_item(
    app: App, reviewer: Client, episode: Episode
) -> None:
    upcoming = make_episode(app, outcome=None, completed_at=clock.now() - timedelta(days=9))

    answer = decide(reviewer, episode, outcome="failure")

    assert (answer.status_code, answer.headers["Location"]) == (302, url(upcoming))
    assert outcome(episode) == ("failure", "reviewer")
    assert acts_of("anna") == ["outcome.stated"]


def test_the_last_decision_leads_to_the_empty_queue(
    app: App, reviewer: Client, episode: Episode
) -> None:
    answer = decide(reviewer, episode, outcome="failure")

    assert answer.headers["Location"] == f"/apps/{app.name}/queue/"
    page = Page(reviewer.get(answer.headers["Location"]))
    assert "You decided" in page.text
    assert "Nothing waits" in page.text


def test_the_way_on_stays_in_the_part_of_the_queue(app: App, reviewer: Client) -> None:
    first = make_episode(app, outcome="success", may_verify=False)
    second = make_episode(app, outcome="success", may_verify=False)
    make_episode(app, outcome=None)
    for one in (first, second):
        feedback_on(one)
    top = Page(reviewer.get(f"/apps/{app.name}/queue/?why=disputed"))
    opened = Episode.objects.get(id=top.all("article")[0]["data-episode"])
    other = second if opened == first else first

    answer = decide(reviewer, opened, outcome="failure", why="disputed")

    assert answer.headers["Location"] == f"{url(other)}?why=disputed"


def test_htmx_gets_the_next_item_the_changed_row_and_the_counts(
    app: App, reviewer: Client, episode: Episode
) -> None:
    upcoming = make_episode(app, outcome=None)
    lifecycle.state_outcome(
        episode=episode, statement=Statement("success", "agent_claim"), actor=ACTOR
    )
    sent = form_of(reviewer, episode, "decide")

    answer = reviewer.post(
        url(episode, "decide"), {**sent, "outcome": "failure", "reason": "No."}, headers=HTMX
    )

    page = Page(answer)
    assert answer.headers["HX-Push-Url"] == url(upcoming)
    assert [one["data-episode"] for one in page.all("article")] == [str(upcoming.id)]
    [row] = page.all("li", id=f"row-{episode.id}")
    assert "Failure decided" in " ".join(row.text.split())
    [tabs] = page.all("nav", id="queue-tabs", hx_swap_oob="true")
    assert " ".join(tabs.text.split()) == "All 1 Unknown 1 Not verified 1"
    [said] = page.texts("p", id="queue-said")
    assert said == "Decided: failure. 1 wait."


@pytest.mark.parametrize("headers", [{}, HTMX])
@pytest.mark.parametrize(
    ("missing", "told"),
    [
        ({"outcome": ""}, "Choose how it ended."),
        ({"reason": ""}, "Say in a few words what shows it."),
        ({"reason": "\u200b"}, "Nothing of this can be kept. Say it in other words."),
        ({"outcome": "excellent"}, "Select a valid choice."),
    ],
)
def test_an_invalid_decision_comes_back_with_what_was_typed(
    reviewer: Client, episode: Episode, missing: dict[str, str], told: str, headers: dict[str, str]
) -> None:
    sent = {**form_of(reviewer, episode, "decide"), "outcome": "failure", "reason": "As read."}

    page = Page(reviewer.post(url(episode, "decide"), {**sent, **missing}, headers=headers))

    assert page.status == 422
    assert told in " ".join(page.texts("p", class_="errors"))
    if "reason" not in missing:
        assert [i["value"] for i in page.all("input", name="reason")] == ["As read."]
    else:
        [chosen] = [
            i["value"] for i in page.all("input", type="radio") if "checked" in i.attributes
        ]
        assert chosen == "failure"
    assert bool(page.all("html")) is not bool(headers)
    assert outcome(episode) == ("unknown", None)


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_the_second_of_two_sees_what_happened_and_keeps_their_entry(
    app: App, reviewer: Client, episode: Episode, headers: dict[str, str]
) -> None:
    ben = sign_in(make_member(app, Role.REVIEWER, "ben"))
    sent = {**form_of(ben, episode, "decide"), "outcome": "success", "reason": "It worked."}
    decide(reviewer, episode, outcome="failure")

    page = Page(ben.post(url(episode, "decide"), sent, headers=headers))

    assert page.status == 409
    [told] = page.texts("div", role="alert")
    assert told.startswith("Nothing was decided. While you read, anna said Failure (As read.)")
    assert [i["value"] for i in page.all("input", name="reason")] == ["It worked."]
    assert outcome(episode) == ("failure", "reviewer")

    again = {e["name"]: e["value"] for e in page.all("input", type="hidden")}
    answer = ben.post(url(episode, "decide"), {**sent, "seen": again["seen"]})

    assert answer.status_code == 302
    assert outcome(episode) == ("success", "reviewer")


def test_a_curator_settles(app: App, episode: Episode) -> None:
    curator = member_client(app, Role.CURATOR)

    decide(curator, episode, outcome="partial", settles="on")

    assert outcome(episode) == ("partial", "resolution")


def test_a_reviewer_cannot_settle(reviewer: Client, episode: Episode) -> None:
    answer = decide(reviewer, episode, outcome="partial", settles="on")

    assert answer.status_code == 403
    assert outcome(episode) == ("unknown", None)


def test_accepting_feedback_without_script(reviewer: Client, episode: Episode) -> None:
    feedback = feedback_on(episode)
    sent = form_of(reviewer, episode, "accept")
    assert (sent["reason"], sent["feedback"]) == ("The user says so.", str(feedback.id))

    answer = reviewer.post(url(episode, "accept"), sent)

    assert answer.status_code == 302
    assert outcome(episode) == ("failure", "reviewer")
    entry = OutcomeEntry.objects.get(source="reviewer")
    assert entry.evidence == {"feedback": str(feedback.id), "rating": "negative"}


def test_an_acceptance_without_reason_comes_back_open(reviewer: Client, episode: Episode) -> None:
    feedback_on(episode)
    sent = form_of(reviewer, episode, "accept")

    page = Page(reviewer.post(url(episode, "accept"), {**sent, "reason": ""}))

    assert page.status == 422
    assert [one for one in page.all("details", class_="asks") if "open" in one.attributes]
    assert page.texts("p", class_="errors") == ["Say in a few words what shows it."]


def test_another_sessions_feedback_is_not_found(
    app: App, reviewer: Client, episode: Episode
) -> None:
    feedback_on(episode)
    sent = form_of(reviewer, episode, "accept")
    foreign = feedback_on(make_episode(make_app(), outcome=None, session_id="run"))
    other = feedback_on(make_episode(app, outcome=None))

    for feedback in (foreign, other):
        answer = reviewer.post(url(episode, "accept"), {**sent, "feedback": str(feedback.id)})
        assert answer.status_code == 404
    assert outcome(episode) == ("unknown", None)


def test_undo_without_script_goes_back_to_the_item(reviewer: Client, episode: Episode) -> None:
    decide(reviewer, episode, outcome="failure")
    sent = form_of(reviewer, episode, "undo")
    assert sent["reason"] == "Decided by mistake."

    answer = reviewer.post(url(episode, "undo"), sent)

    assert (answer.status_code, answer.headers["Location"]) == (302, url(episode))
    assert outcome(episode) == ("unknown", None)
    assert acts_of("anna") == ["outcome.stated", "outcome.retracted"]
    assert "Taken back:" in Page(reviewer.get(url(episode))).text


def test_undo_by_htmx_returns_the_item_and_its_row(reviewer: Client, episode: Episode) -> None:
    decide(reviewer, episode, outcome="failure")
    sent = form_of(reviewer, episode, "undo")

    page = Page(reviewer.post(url(episode, "undo"), sent, headers=HTMX))

    assert [one["data-episode"] for one in page.all("article")] == [str(episode.id)]
    [row] = page.all("li", id=f"row-{episode.id}")
    assert row["data-decided"] == "no"
    assert page.texts("p", id="queue-said") == ["Taken back. 1 wait."]


@pytest.mark.parametrize("is_erased", [True, False])
def test_of_what_is_hidden_no_goal_stays_with_the_decision(
    app: App, reviewer: Client, is_erased: bool
) -> None:
    """The row is still stored, whether its subject is being erased or it has expired."""
    ended = clock.now() - timedelta(days=5)
    hidden = make_episode(
        app, outcome=None, goal="Close the Zorblatt account", user_id="gone", completed_at=ended
    )
    decide(reviewer, hidden, outcome="failure")
    if is_erased:
        request_erasure(app=app, user_id="gone", actor=ACTOR)
    else:
        App.objects.filter(pk=app.pk).update(retention_days=1)

    page = Page(reviewer.get(f"/apps/{app.name}/queue/"))

    [decisions] = page.texts("section", class_="decisions")
    assert decisions.startswith("You decided Failure an episode that is gone")
    assert "Zorblatt" not in page.source


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_undo_that_comes_too_late_says_so(
    reviewer: Client, episode: Episode, headers: dict[str, str]
) -> None:
    decide(reviewer, episode, outcome="failure")
    sent = form_of(reviewer, episode, "undo")
    reviewer.post(url(episode, "undo"), sent)

    answer = reviewer.post(url(episode, "undo"), sent, headers=headers, follow=not headers)

    assert "That was taken back before." in answer.content.decode()
    assert acts_of("anna") == ["outcome.stated", "outcome.retracted"]


def test_nobody_undoes_what_another_person_decided(
    app: App, reviewer: Client, episode: Episode
) -> None:
    decide(reviewer, episode, outcome="failure")
    sent = form_of(reviewer, episode, "undo")
    ben = sign_in(make_member(app, Role.REVIEWER, "ben"))

    assert ben.post(url(episode, "undo"), sent).status_code == 404
    assert "You decided" not in Page(ben.get(url(episode))).text
    assert outcome(episode) == ("failure", "reviewer")


@pytest.mark.parametrize("act", ACTS)
def test_an_act_is_posted(reviewer: Client, episode: Episode, act: str) -> None:
    assert reviewer.get(url(episode, act)).status_code == 405


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("role", [Role.VIEWER, Role.COMPLIANCE, Role.ADMIN])
def test_a_role_that_does_not_decide_is_refused(
    app: App, episode: Episode, act: str, role: str
) -> None:
    client = member_client(app, role)

    answer = client.post(url(episode, act), {"outcome": "failure", "reason": "x", "seen": "1.0"})

    assert answer.status_code == 403
    assert outcome(episode) == ("unknown", None)


@pytest.mark.parametrize("act", ACTS)
def test_another_apps_reviewer_finds_nothing(episode: Episode, act: str) -> None:
    outsider = member_client(make_app(), Role.CURATOR)

    answer = outsider.post(url(episode, act), {"outcome": "failure", "reason": "x", "seen": "1.0"})

    assert answer.status_code == 404


@pytest.mark.parametrize("act", ACTS)
def test_another_apps_episode_is_not_found(app: App, reviewer: Client, act: str) -> None:
    foreign = make_episode(make_app(), outcome=None)

    answer = reviewer.post(
        f"/apps/{app.name}/queue/{foreign.id}/{act}/",
        {"outcome": "failure", "reason": "x", "seen": "1.0"},
    )

    assert answer.status_code == 404
    assert outcome(foreign) == ("unknown", None)


@pytest.mark.parametrize("act", ACTS)
def test_a_form_without_its_token_is_refused(app: App, episode: Episode, act: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(make_member(app, Role.REVIEWER))

    assert client.post(url(episode, act), {"outcome": "failure"}).status_code == 403


def test_a_made_up_place_costs_only_the_way_on(reviewer: Client, episode: Episode) -> None:
    answer = decide(reviewer, episode, outcome="failure", place="nonsense")

    assert answer.status_code == 302
    assert outcome(episode) == ("failure", "reviewer")


def test_what_was_seen_cannot_be_left_out(reviewer: Client, episode: Episode) -> None:
    page = Page(
        reviewer.post(url(episode, "decide"), {"outcome": "failure", "reason": "x", "seen": "all"})
    )

    assert page.status == 422
    assert "The form was cut on its way." in page.text
    assert outcome(episode) == ("unknown", None)


def test_a_subject_who_was_erased_meanwhile_is_not_found(
    app: App, reviewer: Client, episode: Episode
) -> None:
    sent = {**form_of(reviewer, episode, "decide"), "outcome": "failure", "reason": "As read."}
    make_tombstone(app, "user-1")

    assert reviewer.post(url(episode, "decide"), sent).status_code == 404
    assert outcome(episode) == ("unknown", None)
