"""Holds, alarms, lineage and provenance on the episode's page and in the queue; their thresholds."""

from __future__ import annotations

import pytest
from django.test import Client

from curation.models import Alarm, AlarmKind
from episodes import lifecycle
from episodes.audit import Actor
from episodes.enums import ActorKind, Role
from episodes.ingest.store import SessionWrite, write_session
from episodes.models import App, AuditEntry, Block, Episode
from tests.curation.cast import make_member, member_client, sign_in
from tests.curation.views.page import Page
from tests.episodes.asking import ask
from tests.factories import ACTOR, make_app, make_episode, make_session

SHADOW = {
    "queries_of": "app",
    "side": "vector",
    "first": 21.5,
    "of": 43,
    "queries": 120,
    "share": 0.5,
    "peers": 200,
    "peer": 3.25,
    "best_peer": 5.0,
}
SHARE = {"share": 0.75, "kinds": 12, "recalls": 31, "of": 40, "peers": 6, "days": 7}
HARM = {
    "bad": 7,
    "of": 8,
    "others_bad": 3,
    "others": 90,
    "chance": 0.00012,
    "looked_at": 14,
    "days": 30,
}


@pytest.fixture
def curator(app: App) -> Client:
    return member_client(app, Role.CURATOR)


def url(episode: Episode, rest: str = "") -> str:
    return f"/apps/{episode.app.name}/episodes/{episode.id}/{rest}"


def hold(episode: Episode, **members: object) -> Block:
    told = {"kind": "held", "reason": "shadow_recall", "figures": SHADOW, "revision": 1}
    return lifecycle.block_episode(episode=episode, actor=ACTOR, **{**told, **members})  # type: ignore[arg-type]


def alarm(episode: Episode, kind: str = AlarmKind.RETRIEVAL_SHARE, **figures: object) -> Alarm:
    return Alarm.objects.create(
        app=episode.app,
        episode=episode,
        user_id=episode.user_id,
        kind=kind,
        figures=figures or (SHARE if kind == AlarmKind.RETRIEVAL_SHARE else HARM),
    )


def notices(page: Page) -> list[str]:
    return [" ".join(one.text.split()) for one in page.all("div", class_="settle")]


def test_a_hold_says_which_rule_saw_what(app: App, viewer: Client) -> None:
    episode = make_episode(app)
    hold(episode)

    [said] = notices(Page(viewer.get(url(episode))))

    assert said.startswith(
        "Held until somebody has read it. By its meaning it would have been first for 21.5 of 43"
        " kinds of questions (50%) among the last 120 of its app. Of 200 episodes in its place the"
        " best would have had 5, and one in a hundred 3.25."
    )
    assert said.endswith("A curator can release it or keep it out.")


@pytest.mark.parametrize(
    ("reason", "figures", "said"),
    [
        ("burst", {"alike": 6, "minutes": 10, "same_procedure": 4}, "One of 6 alike within 10"),
        ("exfiltration", {}, "It reads like an instruction to a model: exfiltration."),
        ("shadow_recall", {**SHADOW, "queries_of": "subject", "side": "text"}, "its own subject"),
    ],
)
def test_every_rule_has_its_words(
    app: App, viewer: Client, reason: str, figures: dict[str, object], said: str
) -> None:
    episode = make_episode(app)
    hold(episode, reason=reason, figures=figures)

    [told] = notices(Page(viewer.get(url(episode))))

    assert said in told


def test_what_is_settled_at_the_desk_leads_back_to_it(app: App, curator: Client) -> None:
    """In the part of the queue that was open."""
    episode = make_episode(app, outcome=None)
    block = hold(episode)
    item = f"/apps/billing-agent/queue/{episode.id}/?why=held"
    release = url(episode, f"holds/{block.id}/release/")
    page = Page(curator.get(item))
    at = next(n for n, e in enumerate(page.elements) if e["action"] == release)
    end = next(n for n, e in enumerate(page.elements) if n > at and e.tag == "button")
    hidden = {e["name"]: e["value"] for e in page.elements[at:end] if e["type"] == "hidden"}

    nothing = Page(curator.post(release, {**hidden, "reason": ""}))
    again = {e["name"]: e["value"] for e in nothing.all("input", type="hidden") if e["value"]}
    answer = curator.post(release, {**hidden, "reason": "An ordinary wish."})

    assert (hidden["place"], hidden["why"]) == (again["place"], again["why"]) == ("queue", "held")
    assert (answer.status_code, answer.headers["Location"]) == (302, item)
    assert "This does not wait any more" not in Page(curator.get(item)).text


@pytest.mark.parametrize("place", ["queue", "episode"])
def test_a_curator_releases_it_where_they_stand(app: App, curator: Client, place: str) -> None:
    episode = make_episode(app, outcome="success")
    block = hold(episode)
    path = f"/apps/billing-agent/queue/{episode.id}/" if place == "queue" else url(episode)
    page = Page(curator.get(path))
    action = url(episode, f"holds/{block.id}/release/")
    assert action in [form["action"] for form in page.all("form", class_="ask")]

    answer = curator.post(action, {"reason": "An ordinary wish.", "place": place})

    assert (answer.status_code, answer.headers["Location"]) == (302, path)
    assert notices(Page(curator.get(url(episode)))) == []
    episode.refresh_from_db()
    assert episode.recall_state == "recallable"
    entry = AuditEntry.objects.get(verb="episode.lifted")
    assert (entry.actor, entry.role) == ("curator", "curator")


def test_a_curator_keeps_it_out_and_can_still_release_it(app: App, curator: Client) -> None:
    episode = make_episode(app)
    block = hold(episode)

    curator.post(url(episode, f"holds/{block.id}/keep-out/"), {"reason": "It gives orders."})

    page = Page(curator.get(url(episode)))
    assert notices(page)[0].startswith("Kept out of recall. A person read it and kept it out.")
    kept = Block.objects.get(app=app, closed_at__isnull=True)
    assert [form["action"] for form in page.all("form", class_="ask")] == [
        url(episode, f"holds/{kept.id}/release/")
    ]


def test_a_curator_dismisses_an_alarm(app: App, curator: Client) -> None:
    episode = make_episode(app, outcome="success")
    raised = alarm(episode)
    said = notices(Page(curator.get("/apps/billing-agent/queue/")))
    assert said[0].startswith(
        "It takes an outsized share of the recalls. In 7 days it was the first hit for 75% of 12"
        " kinds of questions (31 of 40 wordings), with 6 other episodes to choose from."
    )

    curator.post(url(episode, f"alarms/{raised.id}/dismiss/"), {"reason": "It is all they do."})

    page = Page(curator.get(url(episode)))
    assert notices(page) == []
    assert "dismissed" in page.text
    assert "It is all they do." in page.text
    assert "Nothing waits" in Page(curator.get("/apps/billing-agent/queue/")).text


def test_a_curator_flags_what_an_alarm_is_about(app: App, curator: Client) -> None:
    episode = make_episode(app)
    raised = alarm(episode, AlarmKind.OUTCOME_AFTER_RECALL)
    assert (
        "7 of 8 sessions that were given it ended badly"
        in notices(Page(curator.get(url(episode))))[0]
    )

    curator.post(
        url(episode, f"alarms/{raised.id}/flag/"),
        {"reason": "Refunds without approval.", "code": "injection"},
    )

    episode.refresh_from_db()
    raised.refresh_from_db()
    assert (episode.recall_state, raised.ending) == ("blocked", "flagged")


@pytest.mark.parametrize("act", ["release", "keep-out"])
def test_without_a_reason_it_is_asked_for(app: App, curator: Client, act: str) -> None:
    episode = make_episode(app)
    block = hold(episode)

    for sent in ("", "   "):
        answer = curator.post(url(episode, f"holds/{block.id}/{act}/"), {"reason": sent})
        assert answer.status_code == 422
        assert "Say in a few words" in Page(answer).text

    block.refresh_from_db()
    assert block.closed_at is None


def test_an_unknown_code_is_asked_for_again(app: App, curator: Client) -> None:
    episode = make_episode(app)
    path = url(episode, f"alarms/{alarm(episode).id}/flag/")

    answer = curator.post(path, {"reason": "Bad.", "code": "because"})

    assert answer.status_code == 422
    assert Page(answer).all("select", id="code")


def test_who_comes_second_is_told(app: App, curator: Client) -> None:
    episode = make_episode(app)
    block = hold(episode)
    path = url(episode, f"holds/{block.id}/release/")
    curator.post(path, {"reason": "Fine."})

    answer = curator.post(path, {"reason": "Fine."}, follow=True)

    assert "Somebody has settled that before you" in Page(answer).text


@pytest.mark.parametrize("role", [Role.VIEWER, Role.REVIEWER, Role.COMPLIANCE, Role.ADMIN])
def test_only_a_curator_settles(app: App, role: str) -> None:
    episode = make_episode(app)
    block, raised = hold(episode), alarm(episode)
    client = member_client(app, role)

    for path in (
        f"holds/{block.id}/release/",
        f"holds/{block.id}/keep-out/",
        f"alarms/{raised.id}/dismiss/",
        f"alarms/{raised.id}/flag/",
    ):
        sent = {"reason": "Mine.", "code": "other"}
        assert client.post(url(episode, path), sent).status_code == 403, path

    block.refresh_from_db()
    raised.refresh_from_db()
    assert (block.closed_at, raised.closed_at) == (None, None)


def test_what_belongs_elsewhere_is_not_found(app: App, curator: Client) -> None:
    episode, other = make_episode(app), make_episode(app)
    foreign = make_episode(make_app())
    sent = {"reason": "Mine.", "code": "other"}
    flagged = lifecycle.block_episode(episode=episode, kind="quarantine", actor=ACTOR)

    for path in (
        url(episode, f"holds/{hold(other).id}/release/"),
        url(episode, f"holds/{hold(foreign).id}/release/"),
        url(episode, f"holds/{flagged.id}/release/"),
        url(episode, f"alarms/{alarm(other).id}/dismiss/"),
        url(episode, f"alarms/{alarm(foreign).id}/flag/"),
    ):
        assert curator.post(path, sent).status_code == 404, path


def test_an_episode_shows_what_it_is_built_on(app: App, curator: Client, viewer: Client) -> None:
    first = make_episode(app, session_id="first", embedded=True)
    ask(app, "Refund the duplicate charge", session_id="second")
    second = make_episode(app, session_id="second", tools=("notify",))

    [section] = Page(curator.get(url(second))).all("section", id="built-on")
    [hidden] = Page(viewer.get(url(second))).all("section", id="built-on")

    assert "generation 1" in section.text
    assert "served as" in section.text
    assert "1 generation back" in hidden.text
    assert str(first.id) not in str(Page(viewer.get(url(second))).text)


def test_provenance_is_shown_to_who_may_follow_it(app: App, curator: Client) -> None:
    actor = Actor(
        name="key abc",
        kind=ActorKind.KEY,
        key_prefix="abcdef",
        route="POST api/v1/sessions",
        address_hash="f" * 64,
    )
    write = SessionWrite("user-1", "s1", "episode", make_session())
    write_session(app=app, write=write, actor=actor, may_verify=True)
    episode = Episode.objects.get(app=app)
    viewer = sign_in(make_member(app, Role.VIEWER))

    seen, unseen = (Page(client.get(url(episode))).text for client in (curator, viewer))

    for one in ("POST api/v1/sessions", "abcdef", "ffffffffffff"):
        assert one in seen
        assert one not in unseen
    assert "key abc" in unseen


def settings(app: App) -> str:
    return f"/apps/{app.name}/settings/trust/"


def filled(client: Client, app: App, **changes: object) -> dict[str, object]:
    page = Page(client.get(settings(app)))
    sent = {
        field["name"]: field["value"]
        for field in page.all("input")
        if field["type"] in ("number", "hidden") and field["name"] != "csrfmiddlewaretoken"
    }
    for box in page.all("input", type="checkbox"):
        if "checked" in box.attributes:
            sent[box["name"]] = "on"
    return {**sent, **changes}


def test_an_admin_sets_a_threshold_and_defaults_stay_defaults(app: App) -> None:
    admin = member_client(app, Role.ADMIN)

    answer = admin.post(settings(app), filled(admin, app, **{"burst.count": "9"}))

    app.refresh_from_db()
    assert (answer.status_code, app.review_rules) == (302, {"burst": {"count": 9}})
    entry = AuditEntry.objects.get(verb="trust_rules.changed")
    assert entry.actor == "admin"


def test_a_threshold_out_of_bounds_is_refused(app: App) -> None:
    admin = member_client(app, Role.ADMIN)

    for wrong in ({"burst.count": "0"}, {"shadow.own_share": "nan"}, {"alarms.share": "2"}):
        assert admin.post(settings(app), filled(admin, app, **wrong)).status_code == 422

    app.refresh_from_db()
    assert app.review_rules == {}


def test_two_admins_do_not_overwrite_each_other(app: App) -> None:
    admin = member_client(app, Role.ADMIN)
    mine = filled(admin, app, **{"burst.count": "9"})
    admin.post(settings(app), filled(admin, app, **{"burst.minutes": "30"}))

    answer = admin.post(settings(app), mine)

    app.refresh_from_db()
    assert (answer.status_code, app.review_rules) == (409, {"burst": {"minutes": 30}})
    assert "Nothing was changed." in Page(answer).text


def test_only_an_admin_sets_thresholds(app: App, compliance: Client) -> None:
    sent = filled(compliance, app, **{"burst.count": "9"})

    assert compliance.post(settings(app), sent).status_code == 403
