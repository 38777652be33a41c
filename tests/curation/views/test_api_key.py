"""The page of one API key: what it is and did, and what becomes of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlparse

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from episodes.enums import Role
from episodes.keys.issuing import revoke_key
from episodes.keys.limits import limit_key
from episodes.keys.lookup import authenticate
from episodes.keys.rotation import rotate_key
from episodes.keys.subject_tokens import signing_secret
from episodes.models import ApiKey, App, AuditEntry, Episode
from memoryadmin.lib import clock
from tests.curation.cast import make_member, member_client, sign_in
from tests.curation.views.page import Page
from tests.episodes.api.client import ApiClient
from tests.factories import ACTOR, GOAL, make_app, make_body, make_key

HTMX = {"HX-Request": "true"}
NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)


@pytest.fixture
def admin(app: App) -> Client:
    return sign_in(make_member(app, Role.ADMIN, "ada"))


def url(key: ApiKey, act: str = "") -> str:
    return f"/apps/{key.app.name}/settings/keys/{key.id}/{act}"


def shown_secrets(page: Page) -> list[str]:
    return [b["data-copies"] for b in page.all("button", class_="copy")]


def facts(page: Page) -> dict[str, str]:
    """What the page says of it; the sheet of keys comes after it."""
    told = list(zip(page.texts("dt"), page.texts("dd"), strict=True))
    return dict(reversed(told))


def figures(page: Page) -> list[str]:
    return [facts(page)[name].split()[0] for name in FIGURES]


FIGURES = ("Requests", "Refused", "Episodes written", "Recalls", "Outcomes stated")


def test_it_says_what_the_key_is_and_may(app: App, admin: Client) -> None:
    key, _ = make_key(app, "search", "verify", limit_per_minute=60, demands_subject_token=True)

    page = Page(admin.get(url(key)))

    told = facts(page)
    assert told["Key"] == f"mem_{key.prefix}_…"
    assert told["Limit"] == "60 requests a minute"
    assert told["Subject token"] == "demanded with every request"
    assert told["Last used"] == "never"
    [may] = page.texts("ul", class_="may")
    assert may == (
        "search ask for precedent; every search is logged with what it was given "
        "verify say how a session ended and be believed, declare and retire toolsets"
    )


def test_it_counts_what_the_key_did_and_not_another_one(app: App, compliance: Client) -> None:
    key, raw = make_key(app)
    api, other = ApiClient(raw), ApiClient(make_key(app)[1])
    for number, client in enumerate((api, api, other)):
        client.post("sessions", make_body(session_id=f"s-{number}", outcome="success"))
        client.post("search", {"user_id": "user-1", "query": GOAL})
    api.post("outcomes", {"user_id": "user-1", "session_id": "s-0", "outcome": "failure"})
    api.post("feedback", {"user_id": "user-1", "session_id": "s-0", "rating": "positive"})
    api.get("episodes/01890a5d-ac96-774b-bcce-b302099a8057")
    api.post("sessions", {})

    page = Page(compliance.get(url(key)))

    assert figures(page) == ["8", "2", "2", "2", "3"]
    assert facts(page)["Feedback passed on"] == "1"
    stated = [row["href"] for row in page.all("a") if "#entry-" in row["href"]]
    assert len(stated) == 3
    addresses = page.texts("table")[-2]
    assert "POST api/v1/sessions 422 1 3" in addresses
    assert "GET api/v1/episodes/<uuid:episode_id> 404 1 1" in addresses


def test_counts_lead_to_the_lists_of_what_was_counted(app: App, compliance: Client) -> None:
    key, raw = make_key(app)
    api, other = ApiClient(raw), ApiClient(make_key(app)[1])
    for number, client in enumerate((api, other)):
        client.post("sessions", make_body(session_id=f"s-{number}"))
        client.post("search", {"user_id": "user-1", "query": f"{GOAL} {number}"})
    mine = Episode.objects.get(session_id="s-0")

    page = Page(compliance.get(url(key)))

    found = {
        urlparse(a["href"]).path: a["href"]
        for a in page.all("a")
        if parse_qs(urlparse(a["href"]).query) == {"key": [key.prefix]}
    }
    episodes = Page(compliance.get(found[f"/apps/{app.name}/episodes/"]))
    recalls = Page(compliance.get(found[f"/apps/{app.name}/recalls/"]))
    assert [row["id"] for row in episodes.all("tr") if row["id"]] == [f"episode-{mine.id}"]
    assert recalls.texts("a", class_="row-link") == [f"{GOAL} 0"]


def test_the_log_is_linked_only_for_who_may_read_it(app: App, admin: Client) -> None:
    key, raw = make_key(app)
    ApiClient(raw).post("search", {"user_id": "user-1", "query": GOAL})

    page = Page(admin.get(url(key)))

    assert figures(page)[3] == "1"
    assert [a["href"] for a in page.all("a") if "/recalls/?" in a["href"]] == []


def test_refusals_of_an_ended_key_are_told(app: App, admin: Client) -> None:
    key, raw = make_key(app)
    revoke_key(key=key, actor=ACTOR, reason="It leaked.")
    ApiClient(raw).get("stats")

    page = Page(admin.get(url(key)))

    assert figures(page)[:2] == ["1", "1"]
    assert "GET api/v1/stats 401 1 1" in page.texts("table")[-1]
    assert "Key revoked by tests It leaked." in page.texts("ol", class_="acts")[0]
    assert page.all("a", data_opens="question") == []


def test_rotating_asks_first_as_a_page_or_a_dialog(app: App, admin: Client) -> None:
    key, _ = make_key(app)

    page = Page(admin.get(url(key, "rotate/")))
    dialog = Page(admin.get(url(key, "rotate/"), headers=HTMX))

    assert (page.texts("h2")[0], dialog.texts("h2")) == ("Rotate this key?", ["Rotate this key?"])
    assert dialog.texts("h1") == []
    assert [field["value"] for field in dialog.all("input", name="overlap")] == ["24"]
    assert ApiKey.objects.count() == 1


def test_a_rotated_key_shows_the_new_one_once_and_both_tell_of_each_other(
    app: App, admin: Client
) -> None:
    old, old_raw = make_key(app, demands_subject_token=True)

    page = Page(admin.post(url(old, "rotate/"), {"overlap": "2", "reason": "due"}))

    new = ApiKey.objects.get(predecessor=old)
    old.refresh_from_db()
    secret, signs = shown_secrets(page)
    assert authenticate(secret) is not None
    assert authenticate(old_raw) is not None
    assert signs == signing_secret(new.id)
    assert old.expires_at is not None
    assert timedelta(hours=1, minutes=59) < old.expires_at - clock.now() <= timedelta(hours=2)
    assert AuditEntry.objects.get(verb="key.rotated").actor == "ada"
    later, before = Page(admin.get(url(new))), Page(admin.get(url(old)))
    assert shown_secrets(later) == []
    assert facts(later)["Takes the place of"] == old.prefix
    assert facts(before)["Replaced by"] == new.prefix
    assert "Being replaced" in before.text
    assert [a["href"] for a in before.all("a", data_opens="question")] == [url(old, "revoke/")]


@pytest.mark.parametrize("overlap", ["", "-1", "721", "1.5", "soon"])
def test_an_impossible_overlap_comes_back(app: App, admin: Client, overlap: str) -> None:
    key, _ = make_key(app)

    assert admin.post(url(key, "rotate/"), {"overlap": overlap}).status_code == 422
    assert ApiKey.objects.count() == 1


def test_what_cannot_be_rotated_is_told(app: App, admin: Client) -> None:
    rotated, _ = make_key(app)
    rotate_key(key=rotated, actor=ACTOR)
    revoked, _ = make_key(app)
    revoke_key(key=revoked, actor=ACTOR)

    again = admin.post(url(rotated, "rotate/"), {"overlap": "1"}, follow=True).content.decode()
    ended = admin.post(url(revoked, "rotate/"), {"overlap": "1"}, follow=True).content.decode()

    assert "Another key has taken its place already." in again
    assert "That key has ended" in ended
    assert ApiKey.objects.count() == 3


def test_a_limit_is_changed(app: App, admin: Client) -> None:
    key, _ = make_key(app, limit_per_minute=60)

    answer = admin.post(url(key, "limit/"), {"limit_per_minute": "5", "seen": "60"})

    key.refresh_from_db()
    assert (answer.headers["Location"], key.limit_per_minute) == (url(key), 5)
    admin.post(url(key, "limit/"), {"limit_per_minute": "", "seen": "5"})
    key.refresh_from_db()
    assert key.limit_per_minute is None


@pytest.mark.parametrize("limit", ["0", "-1", "1000001", "many"])
def test_an_impossible_limit_comes_back(app: App, admin: Client, limit: str) -> None:
    key, _ = make_key(app)

    page = Page(admin.post(url(key, "limit/"), {"limit_per_minute": limit, "seen": ""}))

    assert (page.status, len(page.texts("p", class_="errors"))) == (422, 1)


def test_two_who_change_the_limit_do_not_overrun_each_other(app: App, admin: Client) -> None:
    key, _ = make_key(app, limit_per_minute=60)
    limit_key(key=key, limit_per_minute=90, seen=60, actor=ACTOR)

    page = Page(admin.post(url(key, "limit/"), {"limit_per_minute": "5", "seen": "60"}))

    key.refresh_from_db()
    assert (page.status, key.limit_per_minute) == (409, 90)
    assert "Somebody gave it another limit while you read: it is 90 now." in page.text
    assert [f["value"] for f in page.all("input", name="limit_per_minute")] == ["5"]
    assert [f["value"] for f in page.all("input", name="seen")] == ["90"]


def test_compliance_reads_it_and_changes_nothing(app: App, compliance: Client) -> None:
    key, raw = make_key(app)

    page = Page(compliance.get(url(key)))

    assert (page.status, page.all("a", data_opens="question"), page.all("form", class_="ask")) == (
        200,
        [],
        [],
    )
    for act in ("rotate/", "limit/", "revoke/"):
        assert compliance.post(url(key, act), {"overlap": "1"}).status_code == 403
    assert authenticate(raw) is not None


def test_another_apps_key_is_not_found(app: App, admin: Client) -> None:
    foreign, raw = make_key(make_app())
    outsider = member_client(make_app(), Role.ADMIN)
    mine, _ = make_key(app)

    for act in ("", "rotate/", "revoke/"):
        path = f"/apps/{app.name}/settings/keys/{foreign.id}/{act}"
        assert admin.get(path).status_code == 404
        assert outsider.get(url(mine, act)).status_code == 404
    limited = admin.post(f"/apps/{app.name}/settings/keys/{foreign.id}/limit/", {"seen": ""})
    assert limited.status_code == 404
    assert authenticate(raw) is not None


@pytest.mark.parametrize("n", [1, 50])
def test_the_page_asks_as_much_for_much_as_for_little(app: App, compliance: Client, n: int) -> None:
    key, raw = make_key(app)
    api = ApiClient(raw)
    for number in range(n):
        with clock.at(NOON - timedelta(minutes=number)):
            api.post("sessions", make_body(session_id=f"s-{number}", outcome="success"))
            api.post("search", {"user_id": "user-1", "query": GOAL})
            limit_key(key=key, limit_per_minute=n + 5, seen=None, actor=ACTOR)
            limit_key(key=key, limit_per_minute=None, seen=n + 5, actor=ACTOR)

    with clock.at(NOON), CaptureQueriesContext(connection) as asked:
        page = Page(compliance.get(url(key)))

    assert (len(asked), figures(page)[2:4]) == (QUERIES, [str(n), str(n)])


QUERIES = 15
