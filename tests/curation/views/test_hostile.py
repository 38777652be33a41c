"""What a trace may hold is shown, and does nothing, on every page that shows it."""

from __future__ import annotations

import re
from urllib.parse import quote
from uuid import UUID

import pytest
from django.test import Client

from curation.access import Right
from curation.incidents.working import add_note, link_target, open_incident
from curation.models import Precedent
from curation.poison.flagging import lift_closure
from curation.review.deciding import Seen, correct_outcome
from episodes.enums import Role
from episodes.keys.issuing import issue_key
from episodes.models import App, Episode
from episodes.toolset_hash import Tool
from episodes.toolsets import declare_toolset
from tests.browser.sample import hostile, long_trace
from tests.curation.cast import make_member, sign_in
from tests.curation.poison.poisoned import make_containment, make_flag
from tests.curation.promotion.scene import make_lesson
from tests.curation.recalls import make_recall
from tests.curation.test_role_matrix import address, guarded
from tests.curation.views.page import Page
from tests.episodes.recall_log import spread
from tests.factories import ACTOR

NASTY = (
    '<script>alert(1)</script><img src=x onerror="alert(1)"> javascript:alert(1) \u202egnp.exe '
    "\u200b\x1b[31mred <b>bold</b> {{ 7*7 }} https://evil.example/ " + "W" * 3_000
)
RAW = ("<script>alert", "<img src=x", "<b>", "<i>name", "\u202e", "\u200b", "\x1b")


@pytest.fixture
def reader(app: App) -> Client:
    """Somebody who opens every page: looks after the installation, and curates this app."""
    return superuser(app, Role.CURATOR)


def superuser(app: App, role: Role) -> Client:
    user = make_member(app, role)
    user.is_superuser = True
    user.save()
    return sign_in(user)


@pytest.fixture
def hostile_store(app: App) -> dict[str, object]:
    """A store with such text wherever an agent, its user or an admin can put some; the things of
    it by the names that they have in addresses."""
    episode = hostile(app)
    user_id = episode.user_id or ""
    toolset, _ = declare_toolset(
        app=app, agent_id="<b>agent</b>\u202e", tools=[Tool(name="<b>tool</b>")], actor=ACTOR
    )
    recalled = make_recall(
        app,
        query=f"{NASTY} 1",
        user_id=user_id,
        session_id="<b>session</b>\u202e",
        agent_id="<b>agent</b>\u202e",
    )
    key, _ = issue_key(app=app, name="<b>key</b>", scopes=["search"], actor=ACTOR)
    seen = Seen.of(Episode.objects.get(id=episode.id))
    correct_outcome(episode=episode, outcome="failure", reason=NASTY[:900], seen=seen, actor=ACTOR)
    incident = open_incident(
        app=app,
        title=NASTY[:190],
        description=NASTY,
        source_kind="session",
        source_id="<b>session</b>\u202e",
        actor=ACTOR,
    )
    add_note(incident=incident, text=NASTY, actor=ACTOR)
    named = str(episode.session_id)
    link_target(incident=incident, kind="session", target_id=named, actor=ACTOR)
    link = link_target(incident=incident, kind="episode", target_id=str(episode.id), actor=ACTOR)
    spread(app, [episode], session_id="<b>s</b>\u202e", user_id=user_id, goal=NASTY)
    flag = make_flag(app, episode, note=NASTY[:900])
    contained = make_containment(app, flag)
    lifted = make_containment(app, make_flag(app, episode, note="<b>again</b>"))
    lift_closure(containment=lifted, reason=NASTY[:900], actor=ACTOR)
    return {
        "precedent_id": hostile_precedent(app, episode).id,
        "lesson_id": make_lesson(app, lesson=NASTY, sources=[episode]).id,
        "incident_id": incident.id,
        "link_id": link.id,
        "episode_id": episode.id,
        "flag_id": flag.id,
        "containment_id": contained.id,
        "recall_id": UUID(recalled),
        "toolset_id": toolset.id,
        "key_id": key.id,
    }


def hostile_precedent(app: App, source: Episode) -> Precedent:
    """A proposal whose every text is hostile, as if nothing had cleaned it on the way."""
    step = {"seq": 1, "kind": "result", "tool": "<b>t</b>", "error": "<b>", "summary": NASTY}
    called = {"seq": 2, "kind": "call", "tool": "<b>", "arguments": {"<i>name</i>": NASTY}}
    return Precedent.objects.create(
        app=app,
        status="proposed",
        user_id=source.user_id,
        source_episode_id=source.id,
        source_revision=1,
        outcome="success",
        outcome_source="reviewer",
        recorded_outcome="success",
        procedure_key=source.procedure_key,
        completed_on="2026-11-23",
        goal=NASTY,
        steps=[step, called],
        resolution=NASTY,
        lesson=NASTY,
        lesson_source="caller",
        issue_type="<b>issue</b>\u202e",
        agent_id="<b>agent</b>\u202e",
        toolset_kind="opaque",
        redactions=[
            {"field": "goal", "start": 3, "end": 60, "kind": "name", "rule": "name_pair"},
            {"field": "resolution", "start": 0, "end": 9, "kind": "name", "rule": "name_pair"},
        ],
        n_subjects=1,
        threshold=3,
        proposer="<b>proposer</b>",
        editors=["<b>editor</b>"],
    )


def objections(page: Page) -> list[object]:
    """Return what an attacker would have made of a page."""
    found: list[object] = [
        e for e in page.elements if e.tag in {"b", "u", "i", "iframe", "object", "base", "style"}
    ]
    found += [e for e in page.elements if any(n.startswith("on") for n in e.attributes)]
    found += [e for e in page.elements if "style" in e.attributes]
    for tag in ("script", "img"):
        found += [e for e in page.all(tag) if not e["src"].startswith("/static/")]
    found += [e for e in page.all("a") if not re.match(r"(/|#|\?)(?!/)", e["href"])]
    # a field gives back what was typed, to be sent again as it is
    apart = re.sub(r'(<input[^>]*\svalue=")[^"]*', r"\1", page.source)
    apart = re.sub(r"(<textarea[^>]*>)[^<]*", r"\1", apart)
    return found + [raw for raw in RAW if raw in apart]


@pytest.mark.parametrize("name", sorted(guarded()))
def test_hostile_text_makes_no_element_of_any_page(
    app: App, reader: Client, hostile_store: dict[str, object], name: str
) -> None:
    """The pages come from the URL configuration, so that a new one cannot be forgotten."""
    episode = Episode.objects.get(app=app, session_id="run-hostile")
    if guarded()[name] is Right.INVESTIGATE:
        reader = superuser(app, Role.COMPLIANCE)

    answer = reader.get(address(name, app, episode, **hostile_store), follow=True)

    assert answer.status_code in {200, 405}
    if answer.status_code == 200 and answer.headers["Content-Type"].startswith("text/html"):
        assert objections(Page(answer)) == []


@pytest.mark.parametrize(
    "asked",
    [
        "episodes/?{}",
        "episodes/?q={}&tool={}&error={}&user_id={}&session_id={}&task_id={}&tag={}&key={}",
        "recalls/?user_id={}&session_id={}&arm={}&episode={}&key={}",
        "queue/?why={}",
        "poison/?state={}",
        "settings/ranking/?success={}&window={}",
    ],
)
def test_an_address_made_up_by_somebody_is_inert(
    app: App, reader: Client, hostile_store: dict[str, object], asked: str
) -> None:
    nasty = quote(NASTY[:200].replace("\x1b", ""))

    page = Page(reader.get(f"/apps/{app.name}/{asked.replace('{}', nasty)}", follow=True))

    assert page.status in {200, 422}
    assert objections(page) == []


def test_a_hostile_trace_can_be_read(app: App, compliance: Client) -> None:
    episode = hostile(app)

    page = Page(compliance.get(f"/apps/{app.name}/episodes/{episode.id}/"))

    assert '<script>alert(1)</script> <img src=x onerror="alert(1)">' in page.text
    assert "{{ 7*7 }} {% debug %}" in page.text
    assert "U+202E" in page.texts("span", class_="ghost")
    assert "+27 marks" in page.texts("span", class_="ghost")
    assert "\u202e" not in page.source
    assert "\u200b" not in page.source
    assert "\x1b" not in page.source


def test_a_long_word_is_cut_and_can_be_opened(app: App, viewer: Client) -> None:
    episode = hostile(app)

    page = Page(viewer.get(f"/apps/{app.name}/episodes/{episode.id}/"))

    assert "Show all 8,000 characters" in page.text
    assert max(len(word) for word in page.texts("title")[0].split()) < 70


def test_a_long_trace_is_shown_whole(app: App, viewer: Client) -> None:
    episode = long_trace(app)

    page = Page(viewer.get(f"/apps/{app.name}/episodes/{episode.id}/"))

    anchors = {e["id"] for e in page.elements if e["id"].startswith("step-")}
    assert anchors == {f"step-{n}" for n in range(1, 301)}
    assert len(page.all("rect", class_="s-error")) == 9
    assert page.texts("p", class_="problems")[0].startswith("Went wrong at step 12, ")


def test_the_list_is_short_whatever_it_holds(app: App, viewer: Client) -> None:
    hostile(app)
    long_trace(app)

    assert len(viewer.get(f"/apps/{app.name}/episodes/").content) < 60_000
