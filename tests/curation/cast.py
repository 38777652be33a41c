"""The people of the console's tests, by the functions that the program uses."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.test import Client

from episodes.enums import Role
from episodes.members import add_member
from episodes.models import App
from tests.factories import ACTOR


def make_user(name: str) -> User:
    return User.objects.create_user(name, password="a long enough one")


def make_member(app: App, role: str = Role.VIEWER, name: str = "") -> User:
    user = make_user(name or role)
    add_member(app=app, user=user, role=role, actor=ACTOR)
    return user


def sign_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def member_client(app: App, role: str = Role.VIEWER) -> Client:
    return sign_in(make_member(app, role))
