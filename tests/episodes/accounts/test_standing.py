"""Switched off, let in again, deleted: what somebody did stays, and somebody always is left."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.backends.base import UpdateError
from django.test import Client

from curation.review.deciding import Seen, correct_outcome
from episodes.accounts import BadAccountNameError, create_account
from episodes.accounts.standing import (
    LastAdminOfError,
    LastSuperuserError,
    NoChangeError,
    deactivate_account,
    delete_account,
    end_sessions,
    reactivate_account,
)
from episodes.audit import Actor
from episodes.enums import ActorKind, Role
from episodes.members import LastAdminError, remove_member
from episodes.models import (
    App,
    AuditEntry,
    AuditPayload,
    ConsoleSession,
    DepartedName,
    Member,
    OutcomeEntry,
)
from tests.curation.cast import make_member, make_user, sign_in
from tests.factories import ACTOR, make_app, make_episode

pytestmark = pytest.mark.django_db


@pytest.fixture
def app() -> App:
    return make_app("billing-agent")


def verbs(account_id: int) -> list[str]:
    found = AuditEntry.objects.filter(target_kind="account", target_id=str(account_id))
    return list(found.order_by("at", "id").values_list("verb", flat=True))


def superuser(name: str) -> User:
    return User.objects.create_superuser(name)


def review(app: App, name: str) -> None:
    episode = make_episode(app)
    actor = Actor(name=name, kind=ActorKind.MEMBER, role="reviewer")
    correct_outcome(
        episode=episode, outcome="failure", reason="seen", seen=Seen.of(episode), actor=actor
    )


def test_who_is_switched_off_is_signed_out_at_once(app: App) -> None:
    ben = make_member(app, Role.REVIEWER, "ben")
    browser, other = sign_in(ben), sign_in(ben)
    assert browser.get("/apps/").status_code == other.get("/apps/").status_code == 200

    deactivate_account(account=ben, actor=ACTOR, reason="left")

    assert browser.get("/apps/").status_code == other.get("/apps/").status_code == 302
    assert not ConsoleSession.objects.filter(user=ben).exists()
    assert verbs(ben.pk) == ["account.deactivated"]


def test_a_session_that_begins_meanwhile_is_worth_nothing(app: App) -> None:
    ben = make_member(app, Role.REVIEWER, "ben")
    deactivate_account(account=ben, actor=ACTOR)

    assert sign_in(ben).get("/apps/").status_code == 302


def test_reviews_and_audit_stay(app: App) -> None:
    ben = make_member(app, Role.REVIEWER, "ben")
    review(app, "ben")
    before = AuditEntry.objects.filter(actor="ben").count()

    deactivate_account(account=ben, actor=ACTOR)
    delete_account(account=ben, actor=ACTOR, reason="left the house")

    assert OutcomeEntry.objects.filter(stated_by="ben").count() == 1
    assert AuditEntry.objects.filter(actor="ben").count() == before > 0
    assert not Member.objects.filter(user__username="ben").exists()
    entry = AuditEntry.objects.get(verb="account.deleted")
    payload = AuditPayload.objects.get(entry_id=entry.pk).payload
    assert payload["after"] == {"user": "ben", "roles": {"billing-agent": "reviewer"}}


def test_the_name_of_who_left_is_nobody_elses(app: App) -> None:
    delete_account(account=make_member(app, Role.REVIEWER, "ben"), actor=ACTOR)

    with pytest.raises(BadAccountNameError, match="has left"):
        create_account(name="ben", password="a long enough one", actor=ACTOR)
    assert list(DepartedName.objects.values_list("name", flat=True)) == ["ben"]


def test_somebody_comes_back_with_their_roles(app: App) -> None:
    ben = make_member(app, Role.REVIEWER, "ben")
    deactivate_account(account=ben, actor=ACTOR)

    reactivate_account(account=ben, actor=ACTOR)

    ben.refresh_from_db()
    assert sign_in(ben).get("/apps/billing-agent/").status_code == 200
    with pytest.raises(NoChangeError):
        reactivate_account(account=ben, actor=ACTOR)


def test_the_last_superuser_stays() -> None:
    root, other = superuser("root"), superuser("other")
    deactivate_account(account=other, actor=ACTOR)

    for verb in (deactivate_account, delete_account):
        with pytest.raises(LastSuperuserError):
            verb(account=root, actor=ACTOR)
    root.refresh_from_db()
    assert root.is_active


def test_the_last_admin_of_an_app_stays(app: App) -> None:
    ada = make_member(app, Role.ADMIN, "ada")
    other = make_app("other-agent")
    ben = make_user("ben")
    for held in (app, other):
        Member.objects.create(app=held, user=ben, role=Role.ADMIN)

    with pytest.raises(LastAdminOfError) as refused:
        deactivate_account(account=ben, actor=ACTOR)
    assert refused.value.apps == ["other-agent"]
    deactivate_account(account=ada, actor=ACTOR)

    # an admin who is switched off manages nothing
    with pytest.raises(LastAdminError):
        remove_member(member=Member.objects.get(app=app, user=ben), actor=ACTOR)


def test_sessions_end_but_one(app: App) -> None:
    ben = make_member(app, Role.REVIEWER, "ben")
    here, there = sign_in(ben), sign_in(ben)
    anna = sign_in(make_user("anna"))

    ended = end_sessions(account=ben, actor=ACTOR, but=here.session.session_key or "")

    assert ended == 1
    assert [c.get("/apps/").status_code for c in (here, there, anna)] == [200, 302, 200]


def test_an_account_that_is_gone_cannot_change(app: App) -> None:
    ben = make_member(app, Role.REVIEWER, "ben")
    kept = User.objects.get(pk=ben.pk)
    delete_account(account=ben, actor=ACTOR)

    for verb in (deactivate_account, reactivate_account, delete_account):
        with pytest.raises(NoChangeError):
            verb(account=kept, actor=ACTOR)


def test_a_session_that_was_ended_is_not_written_back(app: App) -> None:
    client: Client = sign_in(make_member(app, Role.REVIEWER, "ben"))
    under_way = client.session
    under_way["seen"] = 1
    ConsoleSession.objects.all().delete()

    with pytest.raises(UpdateError):
        under_way.save()
    assert not ConsoleSession.objects.exists()
