"""People of the sample beside its roles: invited, with a second factor, gone, through a provider."""

from __future__ import annotations

import base64
from datetime import timedelta

from django.contrib.auth.models import User
from django_otp.oath import TOTP

from episodes.accounts.identities import Person, link_person
from episodes.accounts.invitations import invite_person
from episodes.accounts.second_factor import begin_enrolment, confirm_enrolment
from episodes.accounts.standing import deactivate_account
from episodes.audit import Actor
from episodes.enums import ActorKind, Role
from episodes.members import add_member
from episodes.models import App, Invitation
from memoryadmin.lib import clock
from tests.factories import ACTOR

ADMIN = Actor(name="admin", kind=ActorKind.MEMBER, role=Role.ADMIN)
_OFTEN = timedelta(days=3650)  # the sample begins long before it is looked at


def make_accounts(app: App) -> None:
    for name, role in (("noor.haddad", Role.COMPLIANCE), ("t.lindqvist", Role.REVIEWER)):
        add_member(app=app, user=User.objects.create_user(name), role=role, actor=ACTOR)
    _with_factor(User.objects.get(username="noor.haddad"))
    left = User.objects.get(username="t.lindqvist")
    person = Person("https://id.example.org", "00u1f3", "t.lindqvist", frozenset())
    link_person(account=left, person=person, actor=ACTOR)
    deactivate_account(account=left, actor=ACTOR)
    for name, email in (("mirela.popa", "mirela@example.org"), ("<b>eve</b>\u202e", "")):
        invite_person(app=app, name=name, email=email, role=Role.CURATOR, actor=ADMIN)
    Invitation.objects.filter(app=app).update(expires_at=clock.now() + _OFTEN)


def _with_factor(account: User) -> None:
    secret = begin_enrolment(account=account).secret
    confirm_enrolment(account=account, code=code_now(secret), actor=ACTOR)


def code_now(secret: str) -> str:
    totp = TOTP(base64.b32decode(secret))
    totp.time = clock.now().timestamp()
    return f"{totp.token():06d}"
