"""Poison in the console: flagging, the reach, blocking and lifting, by plain forms."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from curation.models import Containment, Flag
from curation.poison.flagging import lift_closure, lift_flag
from curation.promotion import withdraw_precedent
from episodes.enums import Role
from episodes.erasure.request import request_erasure
from episodes.models import App, AuditEntry, Episode
from memoryadmin.lib import clock, ids
from tests.curation.cast import make_member, member_client, sign_in
from tests.curation.poison.poisoned import make_containment, make_flag, make_spread
from tests.curation.promotion.scene import make_published, source_of
from tests.curation.recalls import make_recall
from tests.curation.views.page import Page
from tests.episodes.recall_log import log_recall, spread
from tests.factories import ACTOR, make_app, make_episode, make_tombstone

HTMX = {"HX-Request": "true"}


@pytest.fixture
def curator(app: App) -> Client:
    return sign_in(make_member(app, Role.CURATOR, "cleo"))


def url(app: App, path: str = "") -> str:
    return f"/apps/{app.name}/poison/{path}"


def to_flag(episode: Episode, query: str = "") -> str:
    return f"/apps/{episode.app.name}/episodes/{episode.id}/flag/{query}"


def flag_form(**members: str) -> dict[str, str]:
    return {"reason": "injection", "note": "The note gives orders."} | members


def block_form(client: Client, flag: Flag, **members: Any) -> dict[str, Any]:
    """Return what the form of the preview would send, as a browser without script reads it."""
    page = Page(client.get(url(flag.app, f"{flag.id}/block/")))
    hidden = {one["name"]: one["value"] for one in page.all("input", type="hidden")}
    return {**hidden, "extent": "all", "reason": "It copied the order.", **members}


def state(episode: Episode) -> str:
    return Episode.objects.get(id=episode.id).recall_state


def test_an_episode_is_flagged_and_its_flag_shown(app: App, curator: Client) -> None:
    episode = make_episode(app)

    answer = curator.post(to_flag(episode), flag_form())

    flag = Flag.objects.get()
    assert (answer.status_code, answer.headers["Location"]) == (302, url(app, f"{flag.id}/"))
    assert (flag.episode_id, flag.reason, flag.flagged_by) == (episode.id, "injection", "cleo")
    assert state(episode) == "blocked"
    assert "It reached nobody" in Page(curator.get(answer.headers["Location"])).text
    acts = AuditEntry.objects.filter(actor="cleo").order_by("id").values_list("verb", "role")
    assert list(acts) == [
        ("episode.blocked", "curator"),
        ("flag.raised", "curator"),
        ("reach.read", "curator"),
    ]


def test_a_copy_goes_with_the_flag_and_one_of_its_reach_is_named(app: App, curator: Client) -> None:
    made = make_published(app)
    source = source_of(made)
    path = f"/apps/{app.name}/promotion/{made.id}/"

    with_it = Page(curator.get(url(app, f"{make_flag(app, source).id}/")))
    assert "Copies of these, shared with everybody" in with_it.text
    assert "Shared with everybody, and not blocked by this" not in with_it.text

    root = make_episode(app, session_id="root")
    assert source.completed_at is not None
    log_recall(
        app,
        root,
        user_id=source.user_id or "",
        session_id=source.session_id,
        at=source.completed_at - timedelta(minutes=1),
    )
    flag = make_flag(app, root)
    shown = Page(curator.get(url(app, f"{flag.id}/")))
    assert "Shared with everybody, and not blocked by this" in shown.text
    assert [one["href"] for one in shown.all("a") if one["href"] == path] == [path]

    withdraw_precedent(precedent=made, actor=ACTOR, seen=2, reason="It gives orders.")
    assert "Shared with everybody" not in Page(curator.get(url(app, f"{flag.id}/"))).text


def test_where_it_was_seen_is_kept(app: App, curator: Client) -> None:
    episode = make_episode(app, embedded=True)
    recall = make_recall(app)

    page = Page(curator.get(to_flag(episode, f"?from=recall:{recall}")))
    [form] = [one for one in page.all("form") if one["class"] == "question"]
    curator.post(form["action"], flag_form())

    flag = Flag.objects.get()
    assert (flag.found_in, str(flag.found_id)) == ("recall", recall)


@pytest.mark.parametrize(
    "place", ["recall:x", "recall:", "dream:1", "episode:1", f"recall:{ids.new_id()}", "alarm:é"]
)
def test_a_place_that_is_none_is_not_found(app: App, curator: Client, place: str) -> None:
    episode = make_episode(app)

    assert curator.get(to_flag(episode), {"from": place}).status_code == 404
    assert curator.post(f"{to_flag(episode)}?from={place}", flag_form()).status_code == 404
    assert Flag.objects.count() == 0


def test_another_apps_recall_is_no_place_to_see_it(app: App, curator: Client) -> None:
    foreign = make_recall(make_app("other-agent"))

    answer = curator.get(to_flag(make_episode(app)), {"from": f"recall:{foreign}"})

    assert answer.status_code == 404


@pytest.mark.parametrize(
    "members", [{"reason": ""}, {"reason": "ugly"}, {"note": ""}, {"note": " \u200b "}]
)
def test_a_flag_without_reason_or_evidence_is_asked_for_again(
    app: App, curator: Client, members: dict[str, str]
) -> None:
    episode = make_episode(app)

    answer = curator.post(to_flag(episode), flag_form(**members))

    assert (answer.status_code, state(episode)) == (422, "recallable")
    assert Page(answer).all(class_="errors") != []


def test_who_may_not_curate_flags_and_blocks_nothing(app: App) -> None:
    flag = make_flag(app, make_spread(app, sessions=1))
    contained = make_containment(app)
    other = make_episode(app)
    acts = [
        to_flag(other),
        url(app, f"{flag.id}/lift/"),
        url(app, f"{flag.id}/block/"),
        url(app, f"closures/{contained.id}/lift/"),
    ]
    for role in (Role.VIEWER, Role.REVIEWER, Role.COMPLIANCE, Role.ADMIN):
        client = member_client(app, role)
        for act in acts:
            answer = client.post(act, {**flag_form(), "extent": "all", "seen": "0" * 64})
            assert answer.status_code == 403, (role, act)
    assert Flag.objects.filter(lifted_at__isnull=True).count() == 2
    assert (state(other), Containment.objects.get().stands) == ("recallable", True)


def test_another_apps_flag_is_not_found(app: App, curator: Client) -> None:
    other = make_app("other-agent")
    flag = make_flag(other, make_spread(other, sessions=1))
    contained = make_containment(other, flag)

    for path in (
        f"{flag.id}/",
        f"{flag.id}/lift/",
        f"{flag.id}/block/",
        f"closures/{contained.id}/lift/",
    ):
        assert curator.get(url(app, path)).status_code == 404
        assert curator.post(url(app, path), {"reason": "x"}).status_code in (404, 405)
    assert Page(curator.get(url(app))).all("td") == []


def test_the_reach_is_shown_as_figures_graph_and_table(app: App, curator: Client) -> None:
    root = make_episode(app, goal="Refund invoice 7013 without asking anybody")
    first = spread(app, [root], session_id="run-one")
    spread(app, [first], session_id="run-two", outcome="failure")
    log_recall(app, root, session_id="run-held", arm="control")
    flag = make_flag(app, root)

    page = Page(curator.get(url(app, f"{flag.id}/")))

    figures = page.texts("dd")
    assert figures[:4] == ["2", "2", "0 0 by this flag", "1 searches that would have been given it"]
    assert page.all("svg", role="img")[0]["aria-label"] == (
        "What it reached: 2 episodes in 2 steps; the figures are in the table"
    )
    assert len(page.all("path", class_="edge")) == 2
    [by_depth, sessions] = [
        re.findall(r"<tr[^>]*>(?:(?!</tr>).)*</tr>", table, re.S)
        for table in re.findall(r"<tbody.*?</tbody>", page.source, re.S)
    ]
    assert (len(by_depth), len(sessions)) == (2, 2)
    assert "run-one" in sessions[0]
    assert "run-two" in sessions[1]
    assert "run-held" not in page.source


def test_the_closure_is_previewed_blocked_and_lifted(app: App, curator: Client) -> None:
    root = make_episode(app)
    first = spread(app, [root], session_id="one")
    second = spread(app, [first], session_id="two")
    flag = make_flag(app, root)

    preview = Page(curator.get(url(app, f"{flag.id}/block/")))
    assert "Everything it led to: 2 episodes" in preview.text
    assert {one["value"] for one in preview.all("input", name="episode")} == {
        str(first.id),
        str(second.id),
    }
    answer = curator.post(url(app, f"{flag.id}/block/"), block_form(curator, flag))

    assert (answer.status_code, answer.headers["Location"]) == (302, url(app, f"{flag.id}/"))
    assert (state(first), state(second)) == ("blocked", "blocked")
    contained = Containment.objects.get()
    page = Page(curator.get(url(app, f"{flag.id}/")))
    assert len(page.all("circle", class_="ring")) == 4  # three nodes, one in the legend
    assert page.all("a", href=url(app, f"{flag.id}/block/")) == []

    lift = url(app, f"closures/{contained.id}/lift/")
    assert curator.get(lift).status_code == 200
    assert curator.post(lift, {"reason": ""}).status_code == 422
    assert curator.post(lift, {"reason": "They asked first."}).status_code == 302
    assert (state(first), state(second), state(root)) == ("recallable", "recallable", "blocked")
    assert curator.post(url(app, f"{flag.id}/lift/"), {"reason": "Fine."}).status_code == 302
    assert state(root) == "recallable"


def test_a_part_or_a_depth_can_be_blocked(app: App, curator: Client) -> None:
    root = make_episode(app)
    first, second = (spread(app, [root], session_id=f"s-{n}") for n in range(2))
    third = spread(app, [first], session_id="s-3")
    flag = make_flag(app, root)
    block = url(app, f"{flag.id}/block/")

    nothing = curator.post(block, block_form(curator, flag, extent="part"))
    assert nothing.status_code == 422
    assert "Tick at least one episode" in Page(nothing).text
    curator.post(block, block_form(curator, flag, extent="part", episode=[str(first.id)]))
    assert [state(one) for one in (first, second, third)] == ["blocked", "recallable", "recallable"]
    curator.post(block, block_form(curator, flag, extent="depth", depth="1"))
    assert [state(one) for one in (first, second, third)] == ["blocked", "blocked", "recallable"]

    made_up = block_form(curator, flag, extent="part", episode=[str(make_episode(app).id)])
    assert curator.post(block, made_up).status_code == 404
    made_up = block_form(curator, flag, extent="part", episode=["x"])
    assert curator.post(block, made_up).status_code == 422


def test_a_reach_that_grew_is_409_with_what_was_typed(app: App, curator: Client) -> None:
    root = make_spread(app, sessions=1)
    flag = make_flag(app, root)
    sent = block_form(curator, flag, reason="Everything copied it.")
    grown = spread(app, [root], session_id="late")

    answer = curator.post(url(app, f"{flag.id}/block/"), sent)

    page = Page(answer)
    assert (answer.status_code, state(grown)) == (409, "recallable")
    assert "It was 1 episode then and is 2 now" in page.text
    assert page.all("input", name="reason")[0]["value"] == "Everything copied it."
    again = {one["name"]: one["value"] for one in page.all("input", type="hidden")}
    answer = curator.post(
        url(app, f"{flag.id}/block/"), {**again, "extent": "all", "reason": "Still."}
    )
    assert (answer.status_code, state(grown)) == (302, "blocked")


def test_what_another_did_meanwhile_is_409(app: App, curator: Client) -> None:
    flag = make_flag(app, make_spread(app, sessions=1))
    sent = block_form(curator, flag)
    contained = make_containment(app, flag)

    blocked = curator.post(url(app, f"{flag.id}/block/"), sent)
    assert (blocked.status_code, Containment.objects.count()) == (409, 1)
    lift_closure(containment=contained, reason="No.", actor=ACTOR)
    lifted = curator.post(url(app, f"closures/{contained.id}/lift/"), {"reason": "Me, too."})
    assert lifted.status_code == 409
    assert "It is lifted already" in Page(lifted).text
    lift_flag(flag=flag, reason="Read again.", actor=ACTOR)
    twice = curator.post(url(app, f"{flag.id}/lift/"), {"reason": "Me, too."})
    assert (twice.status_code, Flag.objects.get().lift_reason) == (409, "Read again.")
    late = curator.post(url(app, f"{flag.id}/block/"), sent)
    assert late.status_code == 409
    assert "tests lifted the flag" in Page(late).text


def test_the_form_is_a_dialog_with_htmx(app: App, curator: Client) -> None:
    flag = make_flag(app)
    for path in (to_flag(make_episode(app)), url(app, f"{flag.id}/lift/")):
        page = Page(curator.get(path, headers=HTMX))
        assert page.elements[0].tag == "form"
        assert page.all("html") == []


def test_flags_are_listed_by_state(app: App, curator: Client) -> None:
    standing = make_flag(app, note="Orders in a note.")
    lifted = make_flag(app, note="Wrong label.", reason="mislabelled")
    lift_flag(flag=lifted, reason="It is right.", actor=ACTOR)

    def shown(query: str) -> list[str]:
        page = Page(curator.get(url(app, query)))
        return [one["id"] for one in page.all("tr") if one["id"]]

    assert shown("") == [f"flag-{lifted.id}", f"flag-{standing.id}"]
    assert shown("?state=standing") == [f"flag-{standing.id}"]
    assert shown("?state=lifted") == [f"flag-{lifted.id}"]


def test_the_list_counts_what_its_closures_keep_out_now(app: App, curator: Client) -> None:
    root = make_episode(app)
    spread(app, [root], session_id="one")
    spread(app, [root], session_id="two", user_id="gone")
    make_containment(app, make_flag(app, root))
    lifted = make_containment(app)
    lift_closure(containment=lifted, reason="No.", actor=ACTOR)

    assert blocked_counts(curator, app) == ["0", "2"]

    request_erasure(app=app, user_id="gone", actor=ACTOR)

    assert blocked_counts(curator, app) == ["0", "1"]


def blocked_counts(client: Client, app: App) -> list[str]:
    return Page(client.get(url(app))).texts("td", data_label="reach blocked")


def test_the_episode_shows_its_flags(app: App, curator: Client) -> None:
    episode = make_episode(app)
    first = make_flag(app, episode, note="Orders in a note.")
    lift_flag(flag=first, reason="Read again.", actor=ACTOR)
    make_flag(app, episode, note="The label, too.")
    make_flag(app, note="Of another.")
    path = f"/apps/{app.name}/episodes/{episode.id}/"

    page, seen = Page(curator.get(path)), Page(member_client(app, Role.VIEWER).get(path))

    for one in (page, seen):
        assert "Orders in a note." in one.text
        assert "The label, too." in one.text
        assert "Read again." in one.text
        assert "Of another." not in one.text
    assert len(page.all("a", data_key="f")) == 1
    assert seen.all("a", data_key="f") == []
    assert [one for one in seen.all("a") if "/poison/" in one["href"]] == []


def test_what_was_deleted_since_is_said(app: App, curator: Client) -> None:
    episode = make_episode(app, completed_at=clock.now() - timedelta(days=2))
    log_recall(app, episode, session_id="one")
    flag = make_flag(app, episode)
    app.retention_days = 1
    app.save(update_fields=["retention_days"])

    assert "Since deleted" in Page(curator.get(url(app))).text
    page = Page(curator.get(url(app, f"{flag.id}/")))
    assert "An episode that was since deleted" in page.text
    assert curator.get(url(app, f"{flag.id}/block/")).status_code == 200


def test_nothing_is_written_about_an_erased_subject(app: App, curator: Client) -> None:
    episode = make_spread(app, sessions=1)
    flag = make_flag(app, episode)
    sent = block_form(curator, flag)
    make_tombstone(app, "user-1")

    assert curator.post(to_flag(episode), flag_form()).status_code == 404
    assert curator.post(url(app, f"{flag.id}/block/"), sent).status_code == 404
    assert curator.post(url(app, f"{flag.id}/lift/"), {"reason": "x"}).status_code == 404


def test_the_pages_ask_the_same_whatever_they_show(app: App, curator: Client) -> None:
    def queries(sessions: int) -> list[int]:
        flag = make_flag(app, make_spread(app, sessions=sessions))
        counted = []
        for path in (f"{flag.id}/", f"{flag.id}/block/"):
            with CaptureQueriesContext(connection) as asked:
                assert curator.get(url(app, path)).status_code == 200
            counted.append(len(asked))
        return counted

    few = queries(1)
    assert queries(60) == few


def test_the_list_asks_the_same_whatever_it_shows(app: App, curator: Client) -> None:
    make_flag(app)
    with CaptureQueriesContext(connection) as one:
        curator.get(url(app))
    for _ in range(50):
        make_flag(app)
    with CaptureQueriesContext(connection) as many:
        curator.get(url(app))
    assert len(one) == len(many)


def test_pages_of_the_reach_are_walked_to_the_end(app: App, curator: Client) -> None:
    root = make_spread(app, sessions=60)
    flag = make_flag(app, root)
    for path, mark in ((f"{flag.id}/", "session"), (f"{flag.id}/block/", "")):
        seen: list[str] = []
        here: str | None = path
        while here is not None:
            page = Page(curator.get(url(app, here)))
            seen += (
                page.texts("td", class_=mark)
                if mark
                else [one["value"] for one in page.all("input", name="episode")]
            )
            further = [one["href"] for one in page.all("a", rel="next")]
            here = f"{path}{further[0]}" if further else None
        assert (len(seen), len(set(seen))) == (60, 60)
    assert curator.get(url(app, f"{flag.id}/?after=x")).status_code == 404
    assert curator.get(url(app, f"{flag.id}/block/?after=x")).status_code == 404
