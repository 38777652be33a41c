"""Keys: issued with a secret that is shown once, revoked after a question."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from episodes.enums import KeyScope, Role
from episodes.keys.issuing import revoke_key
from episodes.keys.lookup import authenticate
from episodes.keys.rotation import rotate_key
from episodes.keys.subject_tokens import signing_secret
from episodes.models import ApiKey, App, AuditEntry, AuditPayload
from memoryadmin.lib import clock
from tests.curation.cast import make_member, member_client, sign_in
from tests.curation.views.page import Page
from tests.factories import ACTOR, make_app, make_key

HTMX = {"HX-Request": "true"}
NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


@pytest.fixture
def admin(app: App) -> Client:
    return sign_in(make_member(app, Role.ADMIN, "ada"))


def url(app: App) -> str:
    return f"/apps/{app.name}/settings/keys/"


def revoke_url(key: ApiKey) -> str:
    return f"{url(key.app)}{key.id}/revoke/"


def shown_secrets(page: Page) -> list[str]:
    return [b["data-copies"] for b in page.all("button", class_="copy")]


def test_an_issued_key_works_and_its_secret_is_shown_once(app: App, admin: Client) -> None:
    answer = admin.post(
        url(app), {"name": "billing bot", "scopes": ["search", "ingest"], "limit_per_minute": "60"}
    )

    page = Page(answer)
    [secret] = shown_secrets(page)
    caller = authenticate(secret)
    assert caller is not None
    assert (caller.app_id, caller.scopes, caller.limit_per_minute) == (
        app.id,
        frozenset({"search", "ingest"}),
        60,
    )
    assert (page.status, "no-store" in answer.headers["Cache-Control"]) == (200, True)
    later = Page(admin.get(url(app)))
    assert shown_secrets(later) == []
    assert secret.split("_", 2)[2] not in later.source
    assert "billing bot" in later.text


def test_issuing_is_recorded_without_the_secret(app: App, admin: Client) -> None:
    page = Page(admin.post(url(app), {"name": "bot", "scopes": ["search"]}))

    entry = AuditEntry.objects.get(verb="key.issued")
    payload = AuditPayload.objects.get(entry_id=entry.id)
    assert (entry.actor, entry.role) == ("ada", "admin")
    assert payload.payload["after"]["scopes"] == ["search"]
    assert shown_secrets(page)[0].split("_", 2)[2] not in payload.canonical


def test_a_key_that_demands_subject_tokens_shows_what_signs_them(app: App, admin: Client) -> None:
    page = Page(
        admin.post(url(app), {"name": "bot", "scopes": ["search"], "demands_subject_token": "on"})
    )

    key = ApiKey.objects.get()
    assert key.demands_subject_token
    assert shown_secrets(page)[1:] == [signing_secret(key.id)]


def test_a_key_ends_with_the_day_before(app: App, admin: Client) -> None:
    with clock.at(NOW):
        admin.post(url(app), {"name": "bot", "scopes": ["search"], "expires_on": "2026-06-02"})

    assert ApiKey.objects.get().expires_at == datetime(2026, 6, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"name": ""}, "This field is required."),
        ({"scopes": []}, "Choose what the key may do."),
        ({"scopes": ["root"]}, "Select a valid choice."),
        ({"expires_on": "2026-06-01"}, "This day has begun already."),
        ({"expires_on": "soon"}, "Enter a valid date."),
        ({"limit_per_minute": "0"}, "greater than or equal to 1"),
    ],
)
def test_an_invalid_key_comes_back(
    app: App, admin: Client, changed: dict[str, object], told: str
) -> None:
    with clock.at(NOW):
        page = Page(admin.post(url(app), {"name": "bot", "scopes": ["search"], **changed}))

    assert page.status == 422
    assert told in " ".join(page.texts("p", class_="errors"))
    assert ApiKey.objects.count() == 0


def test_revoking_asks_first_as_a_page_or_a_dialog(app: App, admin: Client) -> None:
    key, secret = make_key(app)

    page = Page(admin.get(revoke_url(key)))
    dialog = Page(admin.get(revoke_url(key), headers=HTMX))

    assert (page.texts("h2")[0], dialog.texts("h2")) == ("Revoke this key?", ["Revoke this key?"])
    assert dialog.texts("h1") == []
    assert authenticate(secret) is not None


def test_a_revoked_key_is_refused_at_once(app: App, admin: Client) -> None:
    key, secret = make_key(app)

    answer = admin.post(revoke_url(key), {"reason": "It leaked."})

    assert answer.headers["Location"] == url(app)
    assert authenticate(secret) is None
    entry = AuditEntry.objects.get(verb="key.revoked")
    assert entry.actor == "ada"
    assert AuditPayload.objects.get(entry_id=entry.id).payload["reason"] == "It leaked."
    assert "revoked" in Page(admin.get(url(app))).text


def test_revoking_again_changes_nothing(app: App, admin: Client) -> None:
    key, _ = make_key(app)
    admin.post(revoke_url(key), {})

    answer = admin.post(revoke_url(key), {}, follow=True)

    assert "That key was revoked before." in answer.content.decode()
    assert AuditEntry.objects.filter(verb="key.revoked").count() == 1


def test_a_reason_that_is_too_long_comes_back(app: App, admin: Client) -> None:
    key, secret = make_key(app)

    assert admin.post(revoke_url(key), {"reason": "x" * 501}).status_code == 422
    assert authenticate(secret) is not None


def test_an_ended_key_says_so(app: App, admin: Client) -> None:
    with clock.at(NOW):
        make_key(app, expires_at=NOW + timedelta(days=1))
        assert "until" in Page(admin.get(url(app))).text
    with clock.at(NOW + timedelta(days=2)):
        assert "ended" in Page(admin.get(url(app))).text


def test_living_keys_come_first_and_lead_to_their_pages(app: App, admin: Client) -> None:
    revoked, older, newer = (make_key(app)[0] for _ in range(3))
    revoke_key(key=revoked, actor=ACTOR)

    page = Page(admin.get(url(app)))

    assert [a["href"] for a in page.all("a", class_="row-link")] == [
        f"{url(app)}{key.id}/" for key in (newer, older, revoked)
    ]


def test_a_pair_shows_which_one_goes(app: App, admin: Client) -> None:
    old, _ = make_key(app)
    rotate_key(key=old, actor=ACTOR)

    page = Page(admin.get(url(app)))

    assert page.texts("span", class_="badge") == ["Works", "Being replaced"]


def test_compliance_sees_keys_and_manages_none(app: App, compliance: Client) -> None:
    key, secret = make_key(app)

    page = Page(compliance.get(url(app)))

    assert (page.status, page.all("a", data_opens="question")) == (200, [])
    sent = {"name": "bot", "scopes": KeyScope.values}
    assert compliance.post(url(app), sent).status_code == 403
    assert compliance.post(revoke_url(key), {}).status_code == 403
    assert ApiKey.objects.count() == 1
    assert authenticate(secret) is not None


def test_another_apps_key_is_not_found(app: App, admin: Client) -> None:
    foreign, secret = make_key(make_app())

    assert admin.post(f"{url(app)}{foreign.id}/revoke/", {}).status_code == 404
    assert foreign.prefix not in Page(admin.get(url(app))).source
    assert authenticate(secret) is not None


def test_another_apps_admin_finds_nothing(app: App) -> None:
    key, _ = make_key(app)
    outsider = member_client(make_app(), Role.ADMIN)

    for answer in (
        outsider.get(url(app)),
        outsider.post(url(app), {"name": "bot", "scopes": ["search"]}),
        outsider.post(revoke_url(key), {}),
    ):
        assert answer.status_code == 404


@pytest.mark.parametrize("n", [1, 50])
def test_the_list_asks_as_much_for_many_rows_as_for_one(app: App, admin: Client, n: int) -> None:
    for _ in range(n):
        make_key(app)

    with CaptureQueriesContext(connection) as asked:
        page = Page(admin.get(url(app)))

    assert (len(asked), len(page.all("th", scope="row"))) == (5, n)
