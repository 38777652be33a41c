from __future__ import annotations

import pytest
from django.test import Client

from episodes.models import App
from tests.curation.cast import make_member, make_user
from tests.curation.views.page import Page

RIGHT = {"username": "viewer", "password": "a long enough one"}


def test_signing_in_leads_to_the_app(app: App) -> None:
    make_member(app)
    client = Client()

    answer = client.post("/sign-in/", RIGHT, follow=True)

    assert [url for url, _ in answer.redirect_chain] == ["/", f"/apps/{app.name}/"]


def test_signing_in_leads_on_to_where_one_was_going(app: App) -> None:
    make_member(app)

    answer = Client().post("/sign-in/", {**RIGHT, "next": f"/apps/{app.name}/episodes/"})

    assert answer.headers["Location"] == f"/apps/{app.name}/episodes/"


@pytest.mark.parametrize(
    "elsewhere",
    ["https://evil.example/", "//evil.example/", "javascript:alert(1)", "\\\\evil.example"],
)
def test_signing_in_never_leads_off_the_site(app: App, elsewhere: str) -> None:
    make_member(app)

    answer = Client().post("/sign-in/", {**RIGHT, "next": elsewhere})

    assert answer.headers["Location"] == "/"


def test_a_wrong_password_is_told_on_the_form(app: App) -> None:
    make_member(app)
    client = Client()

    page = Page(client.post("/sign-in/", {**RIGHT, "password": "guessed"}))

    assert page.status == 422
    assert "correct username and password" in page.texts(role="alert")[0]
    assert page.all("input", name="username")[0]["value"] == "viewer"
    assert page.all("input", name="password")[0]["value"] == ""
    assert client.get("/").status_code == 302


def test_a_fresh_installation_says_how_the_first_account_is_made(db: None) -> None:
    assert "manage.py console_user NAME --superuser" in Page(Client().get("/sign-in/")).text

    make_user("ada")

    assert "console_user" not in Page(Client().get("/sign-in/")).source


def test_a_deactivated_person_cannot_sign_in(app: App) -> None:
    user = make_member(app)
    user.is_active = False
    user.save()

    assert Client().post("/sign-in/", RIGHT).status_code == 422


def test_signing_out_takes_a_post(viewer: Client) -> None:
    assert viewer.get("/sign-out/").status_code == 405

    answer = viewer.post("/sign-out/")

    assert answer.headers["Location"] == "/sign-in/"
    assert viewer.get("/").headers["Location"].startswith("/sign-in/")


def test_forms_need_their_token(app: App) -> None:
    make_member(app)
    client = Client(enforce_csrf_checks=True)

    assert client.post("/sign-in/", RIGHT).status_code == 403


def test_a_session_that_ended_sends_htmx_to_the_sign_in_page(app: App) -> None:
    answer = Client().get(
        f"/apps/{app.name}/episodes/",
        headers={
            "HX-Request": "true",
            "HX-Current-URL": f"http://testserver/apps/{app.name}/episodes/?q=refund",
        },
    )

    assert answer.status_code == 200
    assert answer.headers["HX-Redirect"] == (
        f"/sign-in/?next=/apps/{app.name}/episodes/%3Fq%3Drefund"
    )
