from __future__ import annotations

from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from episodes.models import AuditEntry, AuditPayload, Member
from tests.factories import make_app

PASSWORD = "ochre lantern 44"


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", StringIO(f"{PASSWORD}\nnot this\n"))


def console_user(*arguments: str) -> str:
    out = StringIO()
    call_command("console_user", *arguments, stdout=out)
    return out.getvalue()


def can_sign_in(name: str, password: str = PASSWORD) -> bool:
    answer = Client().post("/sign-in/", {"username": name, "password": password})
    return answer.status_code == 302


@pytest.mark.usefixtures("db", "typed")
def test_somebody_with_a_role_signs_in() -> None:
    app = make_app("billing-agent")

    said = console_user("ada", "--app", "billing-agent", "--role", "curator")

    assert said == "ada, curator in billing-agent\n"
    assert can_sign_in("ada")
    assert not can_sign_in("ada", "not this")
    member = Member.objects.get(user__username="ada")
    assert (member.app, member.role, member.user.is_superuser) == (app, "curator", False)


@pytest.mark.usefixtures("db", "typed")
def test_a_superuser_needs_no_app() -> None:
    assert console_user("root", "--superuser") == "root, superuser\n"

    assert can_sign_in("root")
    assert User.objects.get().is_superuser
    assert Member.objects.count() == 0


@pytest.mark.usefixtures("db", "typed")
def test_what_was_made_is_recorded_without_the_password() -> None:
    make_app("billing-agent")
    before = set(AuditEntry.objects.values_list("id", flat=True))

    console_user("ada", "--app", "billing-agent", "--role", "viewer")

    entries = AuditEntry.objects.exclude(id__in=before).order_by("at", "id")
    assert [(entry.verb, entry.actor) for entry in entries] == [
        ("account.made", "manage.py console_user"),
        ("member.added", "manage.py console_user"),
    ]
    texts = AuditPayload.objects.values_list("canonical", flat=True)
    assert [text for text in texts if PASSWORD in text] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ada", "--app", "billing-agent"], "--app and --role go together"),
        (["ada", "--role", "viewer"], "--app and --role go together"),
        (["ada", "--app", "no-such-app", "--role", "viewer"], "there is no app no-such-app"),
        (["a b"], "no name for an account"),
        (["x" * 151], "no name for an account"),
        (["taken"], "there is an account taken"),
        (["ochre.lantern.44"], "too similar to the username"),
    ],
)
@pytest.mark.usefixtures("db", "typed")
def test_bad_arguments_are_refused(arguments: list[str], message: str) -> None:
    make_app("billing-agent")
    User.objects.create_user("taken")

    with pytest.raises(CommandError, match=message):
        console_user(*arguments)

    assert list(User.objects.values_list("username", flat=True)) == ["taken"]
    assert Member.objects.count() == 0


@pytest.mark.parametrize("sent", ["", "\n", "short\n", "password1234\n"])
def test_a_weak_password_makes_nothing(
    db: None, monkeypatch: pytest.MonkeyPatch, sent: str
) -> None:
    monkeypatch.setattr("sys.stdin", StringIO(sent))

    with pytest.raises(CommandError, match="another password, please"):
        console_user("ada")

    assert User.objects.count() == 0


def test_there_is_no_way_to_type_it_where_others_can_read(db: None) -> None:
    with pytest.raises(CommandError, match="unrecognized arguments"):
        console_user("ada", "--password", PASSWORD)

    assert User.objects.count() == 0
