"""Signing in through a real provider, over HTTP: who gets in, as what, and who does not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from django.contrib.auth.models import User

from episodes.accounts.standing import deactivate_account, delete_account
from episodes.models import App, AuditEntry, ConsoleSession, Identity, Member
from tests.curation.cast import make_user
from tests.factories import ACTOR, make_app
from tests.oidc.people import Idp, console_says

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def app() -> App:
    return make_app("billing-agent")


@pytest.fixture
def browser() -> Iterator[httpx.Client]:
    with httpx.Client() as found:
        yield found


def roles() -> dict[str, str]:
    found = Member.objects.values_list("user__username", "role", "app__name")
    return {name: f"{app}:{role}" for name, role, app in found}


def test_somebody_new_gets_in_with_the_role_of_their_group(
    app: App, idp: Idp, browser: httpx.Client
) -> None:
    idp.knows("ada", "curators", "readers", "gardeners")

    page = idp.sign_in(browser, "ada", "/apps/billing-agent/")

    assert (page.status_code, urlsplit(str(page.url)).path) == (200, "/apps/billing-agent/")
    assert roles() == {"ada": "billing-agent:curator"}
    ada = User.objects.get(username="ada")
    assert (ada.has_usable_password(), ada.is_superuser) == (False, False)
    assert Identity.objects.values_list("issuer", "subject").get(user=ada) == (idp.issuer, "ada")
    acts = AuditEntry.objects.exclude(actor="tests").order_by("at", "id")
    assert list(acts.values_list("actor", "verb")) == [
        ("identity provider", "account.made"),
        ("identity provider", "account.linked"),
        ("identity provider", "member.added"),
        ("ada", "account.signed_in"),
    ]


def test_roles_are_brought_up_to_date_at_each_sign_in(app: App, idp: Idp) -> None:
    User.objects.create_superuser("root")
    found = []
    for groups in (["readers"], ["curators"], ["platform"], ["readers", "platform"]):
        idp.knows("ada", *groups)
        with httpx.Client() as browser:
            assert idp.sign_in(browser, "ada").status_code == 200
        found.append((roles().get("ada"), User.objects.get(username="ada").is_superuser))

    assert found == [
        ("billing-agent:viewer", False),
        ("billing-agent:curator", False),
        (None, True),
        ("billing-agent:viewer", True),
    ]


def test_the_last_superuser_stays_whatever_the_groups_say(app: App, idp: Idp) -> None:
    for groups in (["platform"], ["readers"], ["gardeners"]):
        idp.knows("ada", *groups)
        with httpx.Client() as browser:
            idp.sign_in(browser, "ada")

    assert User.objects.get().is_superuser


def test_a_role_given_here_in_another_app_stays(app: App, idp: Idp) -> None:
    idp.knows("ada", "readers")
    with httpx.Client() as browser:
        idp.sign_in(browser, "ada")
    other = Member.objects.create(app=make_app("other"), user=User.objects.get(), role="admin")

    with httpx.Client() as browser:
        idp.sign_in(browser, "ada")

    assert Member.objects.filter(pk=other.pk, role="admin").exists()


def test_an_unknown_group_stays_out_and_loses_what_it_had(app: App, idp: Idp) -> None:
    idp.knows("ada", "gardeners")
    with httpx.Client() as browser:
        page = idp.sign_in(browser, "ada")
    assert (page.status_code, User.objects.exists()) == (403, False)
    assert "None of your groups has a role here" in console_says(page)

    idp.knows("ada", "curators")
    with httpx.Client() as browser:
        idp.sign_in(browser, "ada")
    idp.knows("ada")
    with httpx.Client() as browser:
        assert idp.sign_in(browser, "ada").status_code == 403
    assert roles() == {}


SPOILED = [
    "audience",
    "audiences",
    "issuer",
    "nonce",
    "no nonce",
    "no end",
    "expired",
    "another client's",
    "unsigned",
    "hmac",
    "another key",
    "another subject",
]


def test_a_token_that_is_not_right_lets_nobody_in(app: App, idp: Idp) -> None:
    """Each is otherwise what a good sign-in brings, and a good one follows."""
    idp.knows("ada", "curators")
    statuses = {}
    for how in SPOILED:
        idp.misbehaves(how)
        with httpx.Client() as browser:
            page = idp.sign_in(browser, "ada")
            statuses[how] = (page.status_code, "was not taken" in console_says(page))
            assert browser.get(f"{idp.console}/apps/").status_code == 302, how

    assert statuses == dict.fromkeys(SPOILED, (403, True))
    assert not User.objects.exists()
    idp.misbehaves("")
    with httpx.Client() as browser:
        assert idp.sign_in(browser, "ada").status_code == 200


def test_an_answer_counts_in_the_browser_that_asked_and_once(
    app: App, idp: Idp, browser: httpx.Client
) -> None:
    idp.knows("ada", "curators")
    sent_for: list[str] = []
    browser.event_hooks["request"] = [lambda request: sent_for.append(str(request.url))]
    assert idp.sign_in(browser, "ada").status_code == 200
    answer = next(address for address in sent_for if "/sign-in/provider/back/" in address)
    made = User.objects.count()

    # again in the same browser; in one that never left; and with a state that was not ours
    again = browser.get(answer)
    with httpx.Client() as other:
        elsewhere = other.get(answer)
    with httpx.Client() as third:
        idp.leave(third)
        mixed = third.get(answer)

    assert [page.status_code for page in (again, elsewhere, mixed)] == [403] * 3
    assert User.objects.count() == made == 1


def test_the_request_is_bound_by_state_nonce_and_pkce(
    app: App, idp: Idp, browser: httpx.Client
) -> None:
    answers = [browser.get(f"{idp.console}/sign-in/provider/") for _ in range(2)]
    asked = [parse_qs(urlsplit(answer.headers["Location"]).query) for answer in answers]

    assert asked[0]["code_challenge_method"] == ["S256"]
    for name in ("state", "nonce", "code_challenge"):
        assert len({query[name][0] for query in asked}) == 2, name
        assert min(len(query[name][0]) for query in asked) == 43, name
    kept = ConsoleSession.objects.get()
    assert kept.user_id is None


def test_an_account_switched_off_here_stays_out(app: App, idp: Idp) -> None:
    idp.knows("ada", "curators")
    with httpx.Client() as browser:
        idp.sign_in(browser, "ada")
        deactivate_account(account=User.objects.get(), actor=ACTOR)
        assert browser.get(f"{idp.console}/apps/").status_code == 302
    with httpx.Client() as browser:
        page = idp.sign_in(browser, "ada")

    assert (page.status_code, console_says(page)) == (403, "Your account here is switched off.")
    assert not User.objects.get().is_active


def test_a_deleted_account_does_not_come_back_under_its_name(app: App, idp: Idp) -> None:
    idp.knows("ada", "curators")
    with httpx.Client() as browser:
        idp.sign_in(browser, "ada")
    delete_account(account=User.objects.get(), actor=ACTOR)
    with httpx.Client() as browser:
        page = idp.sign_in(browser, "ada")

    assert (page.status_code, User.objects.exists()) == (403, False)


def test_neither_name_nor_e_mail_makes_an_account_theirs(app: App, idp: Idp) -> None:
    victim = make_user("ada")
    User.objects.filter(pk=victim.pk).update(email="ada@example.org", is_superuser=True)
    idp.knows("mallory", "curators", preferred_username="ada", email="ada@example.org")
    with httpx.Client() as browser:
        page = idp.sign_in(browser, "mallory")

    assert page.status_code == 403
    assert "an account of your name here that is not linked" in console_says(page)
    assert not Identity.objects.exists()


def test_the_owner_of_an_account_links_it(app: App, idp: Idp, browser: httpx.Client) -> None:
    make_user("ada")
    idp.knows("ada-at-work", "curators")
    _sign_in_by_password(browser, idp, "ada")
    page = browser.post(
        f"{idp.console}/preferences/provider/", data={"csrfmiddlewaretoken": _token(browser)}
    )
    [address] = re.findall(r'href="(http://127[^"]+)"', page.text)
    there = browser.get(address.replace("&amp;", "&"))
    back = idp.through(browser, idp.follow(browser, there), "ada-at-work")
    assert "Linked. You can sign in" in back.text

    with httpx.Client() as another:
        assert idp.sign_in(another, "ada-at-work", "/preferences/").status_code == 200
    assert (User.objects.count(), roles()) == (1, {"ada": "billing-agent:curator"})


def test_password_sign_in_can_be_switched_off(
    app: App, idp: Idp, browser: httpx.Client, settings: Any
) -> None:
    settings.PASSWORD_SIGN_IN = False
    make_user("ben")
    idp.knows("ada", "curators")

    page = browser.get(f"{idp.console}/sign-in/")
    assert ("id_password" in page.text, "Sign in with the tests&#x27; provider" in page.text) == (
        False,
        True,
    )
    assert _sign_in_by_password(browser, idp, "ben") == 403
    assert idp.sign_in(browser, "ada").status_code == 200


def test_a_provider_that_does_not_answer_is_told(
    app: App, idp: Idp, browser: httpx.Client, settings: Any
) -> None:
    settings.IDENTITY_PROVIDER = replace(settings.IDENTITY_PROVIDER, issuer="http://127.0.0.1:1")

    page = idp.leave(browser)

    assert (page.status_code, "does not answer" in console_says(page)) == (503, True)


def _token(browser: httpx.Client) -> str:
    return next(cookie.value or "" for cookie in browser.cookies.jar if cookie.name == "csrftoken")


def _sign_in_by_password(browser: httpx.Client, idp: Idp, name: str) -> int:
    browser.get(f"{idp.console}/sign-in/")
    sent = {
        "username": name,
        "password": "a long enough one",
        "csrfmiddlewaretoken": _token(browser),
    }
    return browser.post(f"{idp.console}/sign-in/", data=sent).status_code
