from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from episodes.accounts import (
    AccountExistsError,
    BadAccountNameError,
    WeakPasswordError,
    create_account,
)
from episodes.audit import Actor
from episodes.enums import ActorKind, Role
from episodes.members import add_member
from episodes.models import App
from memoryadmin.lib.secret_input import NotTheSameError, read_secret

ACTOR = Actor(name="manage.py console_user", kind=ActorKind.COMMAND, route="manage.py console_user")


class Command(BaseCommand):
    help = (
        "Make a console account. The password is asked for at the terminal, or is the first line "
        "of standard input; it is never an argument."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="what they sign in as")
        parser.add_argument("--app", help="give them a role in this app")
        parser.add_argument("--role", choices=Role.values, help="their role there")
        parser.add_argument(
            "--superuser", action="store_true", help="manages the installation and every app"
        )

    def handle(
        self, *, name: str, app: str | None, role: str | None, superuser: bool, **options: Any
    ) -> None:
        if (app is None) != (role is None):
            raise CommandError("--app and --role go together: a role is held in an app")
        found = _app(app) if app else None
        try:
            with transaction.atomic():
                user = create_account(
                    name=name, password=_password(), is_superuser=superuser, actor=ACTOR
                )
                if found and role:
                    add_member(app=found, user=user, role=role, actor=ACTOR)
        except BadAccountNameError as error:
            raise CommandError(f"{name!r} is no name for an account: {error}") from None
        except AccountExistsError:
            raise CommandError(
                f"there is an account {name}; the members page of an app gives it a role, "
                f"`manage.py changepassword {name}` another password"
            ) from None
        except WeakPasswordError as error:
            raise CommandError(f"another password, please: {error}") from None
        seat = f", {role} in {app}" if role else ""
        self.stdout.write(f"{user.get_username()}{', superuser' if superuser else ''}{seat}")


def _app(name: str) -> App:
    found = App.objects.filter(name=name).first()
    if found is None:
        raise CommandError(f"there is no app {name}; `manage.py apikey --create-app` makes it")
    return found


def _password() -> str:
    try:
        return read_secret("Password")
    except NotTheSameError:
        raise CommandError("the two passwords are not the same; nothing was made") from None
