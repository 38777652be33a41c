"""Who works in the demo's console: a sign-in for each role, and colleagues who never sign in."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Group, User

from episodes.audit import Actor
from episodes.enums import ActorKind, Role
from episodes.members import add_member
from episodes.models import App

COMMAND = Actor(name="manage.py demo", kind=ActorKind.COMMAND, route="manage.py demo")

# They have done most of the work so far. Without a password nobody can sign in as them.
COLLEAGUES = {
    "ines.fabre": Role.REVIEWER,
    "marek.dvorak": Role.REVIEWER,
    "ruth.okafor": Role.CURATOR,
}

# The group of the demo's people: as long as it exists, the installation is a demo.
GROUP = "demo"


def add_people(*, apps: Sequence[App], password: str) -> None:
    """Create a sign-in named after each role, and the colleagues, with that role in every app."""
    group = Group.objects.create(name=GROUP)
    roles = {role.value: role for role in Role}
    hashed = make_password(password)  # once: it is made to take its time
    for name, role in {**roles, **COLLEAGUES}.items():
        known = hashed if name in roles else make_password(None)
        user = User.objects.create(username=name, password=known)
        user.groups.add(group)
        for app in apps:
            add_member(app=app, user=user, role=role, actor=COMMAND)


def member(name: str) -> Actor:
    """Return one of them as the actor of what they do in the console."""
    role = COLLEAGUES.get(name) or Role(name)
    return Actor(name=name, kind=ActorKind.MEMBER, role=role, route="console")
