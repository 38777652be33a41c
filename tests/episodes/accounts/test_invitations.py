"""Invitations: a link that counts once, for a while, as long as whoever made it may invite."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, connection, transaction

from episodes.accounts import AccountExistsError
from episodes.accounts.invitations import (
    InvitationOverError,
    accept_as_known,
    accept_as_new,
    invite_person,
    open_invitation,
    revoke_invitation,
)
from episodes.accounts.standing import deactivate_account
from episodes.audit import Actor
from episodes.enums import ActorKind, Role
from episodes.members import AlreadyMemberError, change_role
from episodes.models import App, AuditEntry, AuditPayload, Invitation, Member
from memoryadmin.lib import clock
from tests.curation.cast import make_member, make_user
from tests.factories import ACTOR, make_app

pytestmark = pytest.mark.django_db
ADA = Actor(name="ada", kind=ActorKind.MEMBER, role="admin")
PASSWORD = "correct horse battery"


@pytest.fixture
def app() -> App:
    made = make_app("billing-agent")
    make_member(made, Role.ADMIN, "ada")
    return made


def invite(app: App, **told: str) -> tuple[Invitation, str]:
    return invite_person(app=app, actor=ADA, **{"name": "ben", "role": "reviewer", **told})


def accept(token: str, name: str = "ben") -> User:
    return accept_as_new(token=token, name=name, password=PASSWORD, actor=ACTOR)


def roles(app: App) -> dict[str, str]:
    return dict(Member.objects.filter(app=app).values_list("user__username", "role"))


def test_whoever_opens_the_link_gets_an_account_and_the_seat(app: App) -> None:
    invitation, token = invite(app, email="ben@example.org")

    account = accept(token, "benjamin")

    assert account.check_password(PASSWORD)
    assert roles(app) == {"ada": "admin", "benjamin": "reviewer"}
    invitation.refresh_from_db()
    assert (invitation.accepted_by, invitation.is_open(clock.now())) == ("benjamin", False)


def test_each_step_is_on_record_under_who_did_it(app: App) -> None:
    accept(invite(app)[1])

    found = AuditEntry.objects.exclude(actor="tests").order_by("at", "id")
    assert list(found.values_list("actor", "verb")) == [
        ("ada", "invitation.made"),
        ("ben", "account.made"),
        ("ben", "member.added"),
        ("ben", "invitation.accepted"),
    ]


def test_only_a_hash_of_the_link_is_kept(app: App) -> None:
    _, token = invite(app)

    with connection.cursor() as cursor:
        cursor.execute("SELECT string_agg(i::text, ' ') FROM episodes_invitation i")
        kept = cursor.fetchone()[0]
    kept += " ".join(AuditPayload.objects.values_list("canonical", flat=True))
    assert "ben" in kept
    assert token not in kept


def test_a_link_works_once(app: App) -> None:
    _, token = invite(app)
    accept(token)

    for again in (lambda: accept(token, "another"), lambda: open_invitation(token)):
        with pytest.raises(InvitationOverError):
            again()
    assert not User.objects.filter(username="another").exists()


def test_a_refused_name_leaves_the_link_as_it_was(app: App) -> None:
    _, token = invite(app)

    with pytest.raises(AccountExistsError):
        accept(token, "ada")

    assert accept(token).get_username() == "ben"


def test_somebody_with_an_account_joins_with_it(app: App) -> None:
    carl = make_user("carl")
    _, token = invite(app)

    accept_as_known(token=token, account=carl, actor=ACTOR)

    assert roles(app) == {"ada": "admin", "carl": "reviewer"}


def test_a_member_does_not_use_the_link_up(app: App) -> None:
    _, token = invite(app)

    with pytest.raises(AlreadyMemberError):
        accept_as_known(token=token, account=User.objects.get(username="ada"), actor=ACTOR)

    assert open_invitation(token).name == "ben"


def test_a_link_ends_after_seven_days_to_the_second(app: App) -> None:
    invitation, token = invite(app)

    with clock.at(invitation.made_at + timedelta(days=7, seconds=-1)):
        assert open_invitation(token) == invitation
    with clock.at(invitation.made_at + timedelta(days=7)), pytest.raises(InvitationOverError):
        open_invitation(token)


def test_a_revoked_link_works_no_more(app: App) -> None:
    invitation, token = invite(app)
    revoke_invitation(app=app, invitation_id=invitation.pk, actor=ADA)

    with pytest.raises(InvitationOverError):
        accept(token)
    with pytest.raises(InvitationOverError):
        revoke_invitation(app=app, invitation_id=invitation.pk, actor=ADA)


def test_another_apps_invitation_is_not_there_to_revoke(app: App) -> None:
    invitation, token = invite(app)

    with pytest.raises(InvitationOverError):
        revoke_invitation(app=make_app("other"), invitation_id=invitation.pk, actor=ADA)
    assert open_invitation(token) == invitation


def test_a_link_counts_as_long_as_its_maker_may_invite(app: App) -> None:
    _, token = invite(app)
    make_member(app, Role.ADMIN, "another-admin")
    ada = Member.objects.get(app=app, user__username="ada")

    change_role(member=ada, role=Role.VIEWER, actor=ACTOR)
    with pytest.raises(InvitationOverError):
        accept(token)

    change_role(member=ada, role=Role.ADMIN, actor=ACTOR)
    assert open_invitation(token)
    deactivate_account(account=ada.user, actor=ACTOR)
    with pytest.raises(InvitationOverError):
        accept(token)


@pytest.mark.parametrize("token", ["", "x" * 43, "\ud800", "a\0b"])
def test_a_made_up_link_is_none(app: App, token: str) -> None:
    invite(app)

    with pytest.raises(InvitationOverError):
        open_invitation(token)


@pytest.mark.parametrize(
    ("wrong", "constraint"),
    [
        ({"role": "owner"}, "episodes_invitation_role"),
        ({"expires_at": "2020-01-01T00:00Z"}, "episodes_invitation_ends_later"),
        (
            {
                "accepted_at": "2026-01-01T00:00Z",
                "accepted_by": "x",
                "revoked_at": "2026-01-01T00:00Z",
            },
            "episodes_invitation_ended_one_way",
        ),
        ({"accepted_at": "2026-01-01T00:00Z"}, "episodes_invitation_accepted_by_somebody"),
    ],
)
def test_the_database_refuses(app: App, wrong: dict[str, str], constraint: str) -> None:
    invitation, _ = invite(app)

    with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
        Invitation.objects.filter(pk=invitation.pk).update(**wrong)


@pytest.mark.django_db(transaction=True)
def test_of_two_who_open_the_link_at_once_one_gets_in(app: App) -> None:
    _, token = invite(app)
    together = Barrier(2)

    def open_it(name: str) -> str:
        together.wait()
        try:
            return accept(token, name).get_username()
        except InvitationOverError:
            return ""
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as threads:
        got = list(threads.map(open_it, ["ben", "eve"]))

    assert sorted(got)[0] == ""
    assert User.objects.filter(username__in=["ben", "eve"]).count() == 1
    assert sorted(roles(app).values()) == ["admin", "reviewer"]
