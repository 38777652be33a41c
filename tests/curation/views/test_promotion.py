"""Promotion in the console: candidates by evidence, both sides of a draft, the second person."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from curation.lessons.proposing import consolidate
from curation.models import Consolidation, Precedent
from curation.promotion import (
    approve_precedent,
    edit_draft,
    offer_precedent,
    propose_precedent,
    refuse_precedent,
    withdraw_precedent,
)
from episodes.enums import Role
from episodes.members import add_member
from episodes.models import App, Episode
from tests.curation.cast import make_member, sign_in
from tests.curation.promotion.scene import (
    ANNA,
    BEN,
    CARA,
    GOALS,
    SUBJECT,
    make_peers,
    make_proposal,
    make_published,
    make_source,
    org_episode,
    review,
)
from tests.curation.recalls import make_recall
from tests.curation.views.page import Page
from tests.factories import ACTOR, make_app, make_episode

TOLD = "Told Mrs. Zorblatt about it."


@pytest.fixture
def anna(app: App) -> Client:
    return sign_in(make_member(app, Role.CURATOR, "anna"))


@pytest.fixture
def ben(app: App) -> Client:
    return sign_in(make_member(app, Role.CURATOR, "ben"))


def url(app: App, *parts: object) -> str:
    return "/".join([f"/apps/{app.name}/promotion", *map(str, parts), ""])


def with_resolution() -> dict[str, Any]:
    steps = [
        {"kind": "call", "tool": "get_charge", "call_id": "1", "arguments": {"order": "ORD-77120"}},
        {"kind": "result", "tool": "get_charge", "call_id": "1"},
        {"kind": "call", "tool": "refund", "call_id": "2", "arguments": {"amount": 640}},
        {"kind": "result", "tool": "refund", "call_id": "2"},
    ]
    return {"session": {"goal": GOALS[0], "steps": steps, "resolution": TOLD}}


def test_candidates_are_listed_by_evidence(app: App, anna: Client) -> None:
    source = make_source(app, peers=3)
    lone = review(make_episode(app, tools=("lookup",), user_id="u-9", embedded=True))
    make_recall(app, user_id="peer-0", query=GOALS[0], session_id="s-recall")

    page = Page(anna.get(url(app)))

    rows = page.texts("tr")[1:]
    assert [row.split(" get_charge")[0].split(" lookup")[0] for row in rows] == [
        GOALS[0],
        lone_goal(lone),
    ]
    assert "4 4 sessions 4 in success never recalled" in rows[0]
    assert "1 below 3 1 session" in rows[1]
    assert [a["href"] for a in page.all("a", class_="button") if "propose" in a["href"]] == [
        url(app, "propose", source.id),
        url(app, "propose", lone.id),
    ]


def lone_goal(episode: Episode) -> str:
    return "Refund the 640 dollar duplicate charge on invoice 8812."


def test_alike_candidates_are_one_row(app: App, anna: Client) -> None:
    for episode in make_peers(app, 3):
        review(episode)

    page = Page(anna.get(url(app)))

    [row] = page.texts("tr")[1:]
    assert "and 2 alike" in row


def test_how_runs_ended_that_recalled_it_is_evidence(app: App, anna: Client) -> None:
    source = make_source(app, peers=2)
    make_recall(app, user_id=SUBJECT, query=GOALS[0], session_id="later-run")
    make_episode(app, user_id=SUBJECT, session_id="later-run", goal=GOALS[1], outcome="success")

    page = Page(anna.get(url(app)))

    assert source.id
    assert "1 recall 1 well, 0 badly" in page.texts("tr")[1]


def test_a_reader_sees_candidates_and_proposes_nothing(app: App, viewer: Client) -> None:
    source = make_source(app)

    page = Page(viewer.get(url(app)))

    assert not [a for a in page.all("a") if "propose" in a["href"]]
    assert viewer.post(url(app, "propose", source.id)).status_code == 403
    assert not Precedent.objects.exists()


def test_a_proposal_is_drafted_and_both_sides_are_shown(app: App, anna: Client) -> None:
    source = make_source(app, **with_resolution())

    answer = anna.post(url(app, "propose", source.id))

    made = Precedent.objects.get()
    assert (answer.status_code, answer.headers["Location"]) == (302, url(app, made.id))
    page = Page(anna.get(url(app, made.id)))
    taken = page.all("mark", class_="taken")
    assert [" ".join(mark.text.split()) for mark in taken] == [
        "ORD-77120 (Subject's own value)",
        "Zorblatt (Name)",
    ]
    assert [area["name"] for area in page.all("textarea")] == [
        "text:goal",
        "text:resolution",
        "text:lesson",
    ]
    assert page.texts("textarea", name="text:resolution") == ["Told Mrs. <NAME> about it."]
    assert "You chose or worded this. Another curator approves it." in page.text
    assert not page.all("form", action=url(app, made.id, "approve"))


def test_the_proposer_cannot_approve_by_a_direct_post(app: App, anna: Client) -> None:
    make_source(app)
    made = propose_precedent(episode=Episode.objects.get(user_id=SUBJECT), actor=ANNA)

    answer = anna.post(url(app, made.id, "approve"), {"seen": 1})

    assert answer.status_code == 422
    assert "A second person approves it." in Page(answer).text
    assert not Episode.objects.filter(scope="org").exists()


def test_a_second_curator_approves(app: App, ben: Client) -> None:
    made = make_proposal(app)
    page = Page(ben.get(url(app, made.id)))
    assert page.all("form", action=url(app, made.id, "approve"))

    answer = ben.post(url(app, made.id, "approve"), {"seen": 1})

    made.refresh_from_db()
    assert (answer.status_code, made.status, made.approver) == (302, "approved", "ben")
    page = Page(ben.get(url(app, made.id)))
    assert "Published" in page.texts("span", class_="badge")
    assert [a["href"] for a in page.all("a") if a.text == "The shared episode"] == [
        f"/apps/{app.name}/episodes/{made.org_episode_id}/"
    ]


@pytest.mark.parametrize("role", [Role.VIEWER, Role.REVIEWER, Role.COMPLIANCE, Role.ADMIN])
def test_other_roles_change_nothing(app: App, role: str) -> None:
    made = make_proposal(app)
    client = sign_in(make_member(app, role))

    for act in ("edit", "approve", "refuse", "withdraw", "offer"):
        assert client.post(url(app, made.id, act), {"seen": 1, "reason": "x"}).status_code == 403

    made.refresh_from_db()
    assert (made.status, made.version) == ("proposed", 1)


def test_what_was_read_and_changed_since_is_a_conflict(app: App, ben: Client) -> None:
    made = make_proposal(app)
    edit_draft(precedent=made, texts={"lesson": "Look first."}, actor=ANNA, seen=1)

    answer = ben.post(
        url(app, made.id, "edit"),
        {"seen": 1, "text:goal": "Another goal for it", "text:lesson": "x"},
    )

    page = Page(answer)
    assert answer.status_code == 409
    assert "it was changed while you read" in page.text
    assert page.texts("textarea", name="text:goal") == ["Another goal for it"]
    made.refresh_from_db()
    assert made.lesson == "Look first."


def test_an_edit_is_kept(app: App, ben: Client) -> None:
    made = make_proposal(app, **with_resolution())

    answer = ben.post(
        url(app, made.id, "edit"),
        {
            "seen": 1,
            "text:goal": GOALS[0],
            "text:resolution": "The customer was told.",
            "text:lesson": made.lesson,
            "left_out": "steps.3.arguments.amount",
        },
    )

    made.refresh_from_db()
    assert (answer.status_code, made.resolution) == (302, "The customer was told.")
    assert made.editors == ["ben"]
    assert "steps.3.arguments.amount" in made.dropped


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"seen": "x"},
        {"seen": 1, "text:goal": "  "},
        {"seen": 1, "text:user_id": "x"},
        {"seen": 1, "left_out": "goal.steps"},
        {"seen": 1, "text:lesson": "x" * 1_001},
    ],
)
def test_a_form_that_is_wrong_changes_nothing(
    app: App, ben: Client, sent: dict[str, object]
) -> None:
    made = make_proposal(app)

    answer = ben.post(url(app, made.id, "edit"), sent)

    made.refresh_from_db()
    assert (answer.status_code, made.version) == (422, 1)


def test_too_few_subjects_take_a_reason(app: App, ben: Client) -> None:
    made = make_proposal(app, peers=1)
    page = Page(ben.get(url(app, made.id)))
    keys = [box["value"] for box in page.all("input", name="accepted")]
    assert page.all("input", name="override")

    refused = ben.post(url(app, made.id, "approve"), {"seen": 1, "accepted": keys})
    assert refused.status_code == 422
    assert "2 of 3 subjects did the same." in Page(refused).text
    done = ben.post(
        url(app, made.id, "approve"),
        {
            "seen": 1,
            "accepted": keys,
            "accepted_because": "Tools.",
            "override": "A new tool.",
        },
    )

    made.refresh_from_db()
    assert (done.status_code, made.status, made.override_reason) == (
        302,
        "approved",
        "A new tool.",
    )


def test_findings_are_shown_and_accepted_one_by_one(app: App, ben: Client) -> None:
    made = make_proposal(app)
    edit_draft(precedent=made, texts={"resolution": "Ask zyzzogeton."}, actor=ANNA, seen=1)
    page = Page(ben.get(url(app, made.id)))
    [box] = page.all("input", name="accepted")
    assert "zyzzogeton Resolution. A word that too few other subjects use" in page.text

    refused = ben.post(url(app, made.id, "approve"), {"seen": 2})
    assert (refused.status_code, "accept each finding" in Page(refused).text) == (422, True)
    sent = {"seen": 2, "accepted": box["value"], "accepted_because": "A queue's name."}
    assert ben.post(url(app, made.id, "approve"), sent).status_code == 302


def test_a_refusal_takes_a_reason(app: App, ben: Client) -> None:
    made = make_proposal(app)

    assert ben.post(url(app, made.id, "refuse"), {"seen": 1, "reason": " "}).status_code == 422
    assert ben.post(url(app, made.id, "refuse"), {"seen": 1, "reason": "No."}).status_code == 302

    page = Page(ben.get(url(app, "history")))
    assert page.texts("tr")[1].startswith(f"Refused {GOALS[0]} No.")


def test_what_is_published_is_withdrawn_with_a_reason(app: App, anna: Client) -> None:
    made = make_published(app)

    answer = anna.post(url(app, made.id, "withdraw"), {"seen": 2, "reason": "Policy changed."})

    assert answer.status_code == 302
    assert org_episode(made).recall_state == "blocked"
    late = anna.post(url(app, made.id, "withdraw"), {"seen": 2, "reason": "Again."})
    assert late.status_code == 409


def test_a_successor_is_proposed_from_the_page(app: App, anna: Client) -> None:
    made = make_published(app)
    listed = Page(anna.get(f"{url(app)}?supersedes={made.id}"))
    assert "Choose what is to stand in the place of" in listed.text
    asked = f"{url(app, 'propose', made.source_episode_id)}?supersedes={made.id}"
    assert Page(anna.get(asked)).all("input", name="supersedes", value=str(made.id))

    anna.post(url(app, "propose", made.source_episode_id), {"supersedes": str(made.id)})

    assert Precedent.objects.get(status="proposed").supersedes == made.id


def test_a_successor_of_another_apps_precedent_is_not_proposed(app: App, anna: Client) -> None:
    foreign = make_published(make_app("other-agent"))
    source = make_source(app)

    answer = anna.post(url(app, "propose", source.id), {"supersedes": str(foreign.id)})

    assert (answer.status_code, Precedent.objects.filter(app=app).exists()) == (404, False)


def test_what_its_own_app_has_taken_back_says_so_where_it_was_offered(app: App) -> None:
    made, other = make_published(app), make_app("other-agent")
    offer = offer_precedent(precedent=made, to=other, actor=BEN, seen=2)
    offer = approve_precedent(precedent=offer, actor=CARA, seen=1)
    reader = sign_in(make_member(other, Role.VIEWER))
    assert "taken it back" not in Page(reader.get(url(other, offer.id))).text

    withdraw_precedent(precedent=made, actor=ANNA, seen=2, reason="It was wrong.")

    assert "taken it back" in Page(reader.get(url(other, offer.id))).text


def test_an_offer_goes_to_an_app_that_one_belongs_to(app: App) -> None:
    made = make_published(app)
    other, foreign = make_app("other-agent"), make_app("foreign-agent")
    user = make_member(app, Role.CURATOR, "cara")
    add_member(app=other, user=user, role=Role.VIEWER, actor=ACTOR)
    client = sign_in(user)

    assert Page(client.get(url(app, made.id))).texts("option") == ["other-agent"]
    unknown = client.post(url(app, made.id, "offer"), {"seen": 2, "to": foreign.name})
    assert unknown.status_code == 422
    assert client.post(url(app, made.id, "offer"), {"seen": 2, "to": other.name}).status_code == 302

    offer = Precedent.objects.get(app=other)
    assert client.post(url(other, offer.id, "approve"), {"seen": 1}).status_code == 403
    there = sign_in(make_member(other, Role.CURATOR, "ben"))
    page = Page(there.get(url(other, offer.id)))
    assert "Offered" in page.texts("span", class_="badge")
    assert SUBJECT not in page.source
    assert there.post(url(other, offer.id, "approve"), {"seen": 1}).status_code == 302


@pytest.mark.parametrize("role", [Role.VIEWER, Role.COMPLIANCE])
def test_its_audit_is_read_where_that_is_recorded(app: App, role: str) -> None:
    precedent = make_proposal(app)
    refuse_precedent(precedent=precedent, seen=precedent.version, reason="Not this.", actor=BEN)
    audited = f"/apps/{app.name}/audit/?target_kind=precedent&target={precedent.id}"

    page = Page(sign_in(make_member(app, role)).get(url(app, precedent.id)))

    assert page.all("ol", class_="acts") == []
    assert (audited in {a["href"] for a in page.all("a")}) == (role == Role.COMPLIANCE)


def test_another_apps_precedent_is_not_found(app: App, anna: Client) -> None:
    foreign = make_proposal(make_app("other-agent"))

    assert anna.get(url(app, foreign.id)).status_code == 404
    for act in ("edit", "approve", "refuse", "withdraw", "offer"):
        sent = {"seen": 1, "reason": "x"}
        assert anna.post(url(app, foreign.id, act), sent).status_code == 404


def test_the_shared_episodes_page_says_who_promoted_it_and_not_for_whom(
    app: App, viewer: Client
) -> None:
    made = make_published(app, **with_resolution())

    page = Page(viewer.get(f"/apps/{app.name}/episodes/{made.org_episode_id}/"))

    assert "Approved by ben" in page.text
    assert "3 subjects did the same" in page.text
    assert url(app, made.id) in [a["href"] for a in page.all("a")]
    for personal in (SUBJECT, "quillfeather", "ORD-77120", "Zorblatt", str(made.source_episode_id)):
        assert personal not in page.source


def test_the_sources_page_leads_to_its_precedent(app: App, anna: Client) -> None:
    source = make_source(app)
    home = f"/apps/{app.name}/episodes/{source.id}/"
    assert url(app, "propose", source.id) in [a["href"] for a in Page(anna.get(home)).all("a")]

    made = propose_precedent(episode=source, actor=ANNA)

    links = [a["href"] for a in Page(anna.get(home)).all("a")]
    assert url(app, made.id) in links
    assert url(app, "propose", source.id) not in links


def test_what_cannot_be_proposed_says_why(app: App, anna: Client) -> None:
    claimed = make_episode(app)
    answer = anna.post(url(app, "propose", claimed.id))
    assert (answer.status_code, "Nobody has reviewed it." in Page(answer).text) == (422, True)

    made = make_proposal(app)
    again = anna.post(url(app, "propose", made.source_episode_id))
    assert (again.status_code, "proposed already" in Page(again).text) == (409, True)


def test_a_failure_is_shared_as_a_warning_only_when_it_is_said(app: App, anna: Client) -> None:
    source = make_source(app, outcome="failure")

    assert anna.post(url(app, "propose", source.id)).status_code == 422
    assert anna.post(url(app, "propose", source.id), {"as_warning": "on"}).status_code == 302

    page = Page(anna.get(url(app, "waiting")))
    assert page.texts("span", class_="badge") == ["Proposed", "Warning"]


def test_lessons_are_accepted_and_dismissed(app: App, anna: Client, viewer: Client) -> None:
    for episode in make_peers(app, 3):
        review(episode)
    consolidate()
    lesson = Consolidation.objects.get()
    home = url(app, "lessons", lesson.id)
    assert "In 3 sessions of 3 subjects" in Page(viewer.get(url(app, "lessons"))).text
    assert Page(viewer.get(home)).status == 200
    assert viewer.post(f"{home}accept/").status_code == 403

    answer = anna.post(f"{home}accept/")

    made = Precedent.objects.get()
    assert (answer.status_code, answer.headers["Location"]) == (302, url(app, made.id))
    assert (made.lesson, made.proposer) == (lesson.lesson, "anna")
    assert anna.post(f"{home}accept/").status_code == 409
    assert anna.post(f"{home}dismiss/", {"reason": "x"}).status_code == 409


def test_a_dismissal_takes_a_reason(app: App, anna: Client) -> None:
    for episode in make_peers(app, 3):
        review(episode)
    consolidate()
    home = url(app, "lessons", Consolidation.objects.get().id)

    assert anna.post(f"{home}dismiss/", {}).status_code == 422
    assert anna.post(f"{home}dismiss/", {"reason": "Known."}).status_code == 302

    assert Consolidation.objects.get().reason == "Known."


@pytest.mark.parametrize("part", ["", "waiting", "published", "history", "lessons"])
def test_an_empty_list_says_what_to_do(app: App, viewer: Client, part: str) -> None:
    page = Page(viewer.get(url(app, part) if part else url(app)))

    assert len(page.all("div", class_="empty")) == 1


Many = Callable[[App, int], None]
NUMBERS = count()


def many_candidates(app: App, n: int) -> None:
    for _ in range(n):
        tools = (f"tool_{next(NUMBERS)}",)
        review(make_episode(app, tools=tools, embedded=True))


def many_proposals(app: App, n: int) -> None:
    for _ in range(n):
        source = review(make_episode(app, tools=(f"tool_{next(NUMBERS)}",)))
        propose_precedent(episode=source, actor=ANNA)


@pytest.mark.parametrize(("part", "many"), [("", many_candidates), ("waiting", many_proposals)])
def test_a_list_takes_the_same_queries_whatever_its_length(app: App, part: str, many: Many) -> None:
    client = sign_in(make_member(app, Role.CURATOR, "cara"))
    counted = []
    for n in (1, 49):
        many(app, n)
        with CaptureQueriesContext(connection) as queries:
            page = Page(client.get(url(app, part) if part else url(app)))
        counted.append(len(queries))

    assert counted[0] == counted[1]
    assert len(page.all("tr")) == 51
