from __future__ import annotations

import json
from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import IntegrityError, transaction

from episodes.applications import create_app
from episodes.audit import Actor
from episodes.enums import ActorKind, KeyScope
from episodes.keys import UnknownScopeError, issue_key
from episodes.models import App
from episodes.subject_tokens import signing_secret
from memoryadmin.lib import clock

ACTOR = Actor(name="manage.py apikey", kind=ActorKind.COMMAND, route="manage.py apikey")


class Command(BaseCommand):
    help = "Issue an API key and print it: the only time that its secret is seen."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--app", required=True)
        parser.add_argument("--create-app", action="store_true", help="make the app if need be")
        parser.add_argument("--scopes", required=True, help=f"from {','.join(KeyScope.values)}")
        parser.add_argument("--name", default="", help="what the key is for")
        parser.add_argument("--days", type=int, help="expires after so many days")
        parser.add_argument("--limit", type=int, help="requests a minute")
        parser.add_argument(
            "--subject-token",
            action="store_true",
            help="demand a signed X-Subject-Token; --json prints the secret that signs it",
        )
        parser.add_argument("--json", action="store_true", help="print one object")

    def handle(self, *, app: str, scopes: str, **options: Any) -> None:
        for name in ("days", "limit"):
            if options[name] is not None and options[name] < 1:
                raise CommandError(f"--{name} must be at least 1")
        days = options["days"]
        try:
            with transaction.atomic():
                key, raw = issue_key(
                    app=_app(app, may_create=options["create_app"]),
                    name=options["name"],
                    scopes=[scope.strip() for scope in scopes.split(",") if scope.strip()],
                    actor=ACTOR,
                    expires_at=clock.now() + timedelta(days=days) if days else None,
                    limit_per_minute=options["limit"],
                    demands_subject_token=options["subject_token"],
                )
        except UnknownScopeError as error:
            raise CommandError(f"--scopes: {error}") from None
        if not options["json"]:
            self.stdout.write(raw)
            return
        told = {"key": raw, "id": str(key.id), "prefix": key.prefix, "scopes": key.scopes}
        if key.demands_subject_token:
            told["subject_secret"] = signing_secret(key.id)
        self.stdout.write(json.dumps(told))


def _app(name: str, *, may_create: bool) -> App:
    """Return the app of that name; two that make it at once get the same one."""
    found = App.objects.filter(name=name).first()
    if found is not None:
        return found
    if not may_create:
        raise CommandError(f"there is no app {name}; --create-app makes it")
    try:
        with transaction.atomic():
            return create_app(name=name, actor=ACTOR)
    except IntegrityError:
        found = App.objects.filter(name=name).first()
        if found is None:
            raise CommandError(f"{name!r} is no name for an app, like billing-agent") from None
        return found
