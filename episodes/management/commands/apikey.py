"""`apikey`: issue, rotate, limit and revoke API keys, by the functions that the console calls."""

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
from episodes.keys.issuing import (
    AlreadyRevokedError,
    KeyEndedError,
    UnknownScopeError,
    issue_key,
    revoke_key,
)
from episodes.keys.limits import limit_key
from episodes.keys.rotation import AlreadyRotatedError, OverlapError, rotate_key
from episodes.keys.subject_tokens import signing_secret
from episodes.models import ApiKey, App
from memoryadmin.lib import clock

ACTOR = Actor(name="manage.py apikey", kind=ActorKind.COMMAND, route="manage.py apikey")


class Command(BaseCommand):
    help = (
        "Issue an API key and print it: the only time that its secret is seen. "
        "Or rotate, limit or revoke the key with a prefix."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--app")
        parser.add_argument("--create-app", action="store_true", help="make the app if need be")
        parser.add_argument("--scopes", help=f"from {','.join(KeyScope.values)}")
        parser.add_argument("--name", default="", help="what the key is for")
        parser.add_argument("--days", type=int, help="expires after so many days")
        parser.add_argument("--limit", type=int, help="requests a minute")
        parser.add_argument(
            "--subject-token",
            action="store_true",
            help="demand a signed X-Subject-Token; --json prints the secret that signs it",
        )
        acts = parser.add_mutually_exclusive_group()
        acts.add_argument("--rotate", metavar="PREFIX", help="print a key that takes its place")
        acts.add_argument("--revoke", metavar="PREFIX", help="end it at its next request")
        acts.add_argument(
            "--set-limit", metavar="PREFIX", help="give it the --limit; none: default"
        )
        parser.add_argument(
            "--overlap", type=float, default=24.0, help="hours until a rotated key ends (24)"
        )
        parser.add_argument("--reason", default="", help="why it is rotated or revoked")
        parser.add_argument("--json", action="store_true", help="print one object")

    def handle(self, **options: Any) -> None:
        for name in ("days", "limit"):
            if options[name] is not None and options[name] < 1:
                raise CommandError(f"--{name} must be at least 1")
        try:
            if options["rotate"]:
                self._rotate(_key(options["rotate"]), **options)
            elif options["revoke"]:
                self._revoke(_key(options["revoke"]), **options)
            elif options["set_limit"]:
                self._limit(_key(options["set_limit"]), **options)
            else:
                self._issue(**options)
        except KeyEndedError:
            raise CommandError("this key has ended: issue another one") from None

    def _issue(self, **options: Any) -> None:
        for name in ("app", "scopes"):
            if not options[name]:
                raise CommandError(f"--{name} is required to issue a key")
        days = options["days"]
        try:
            with transaction.atomic():
                key, raw = issue_key(
                    app=_app(options["app"], may_create=options["create_app"]),
                    name=options["name"],
                    scopes=[
                        scope for scope in map(str.strip, options["scopes"].split(",")) if scope
                    ],
                    actor=ACTOR,
                    expires_at=clock.now() + timedelta(days=days) if days else None,
                    limit_per_minute=options["limit"],
                    demands_subject_token=options["subject_token"],
                )
        except UnknownScopeError as error:
            raise CommandError(f"--scopes: {error}") from None
        self._print(key, raw, as_json=options["json"])

    def _rotate(self, old: ApiKey, **options: Any) -> None:
        try:
            key, raw = rotate_key(
                key=old,
                overlap=timedelta(hours=options["overlap"]),
                reason=options["reason"],
                actor=ACTOR,
            )
        except AlreadyRotatedError:
            successor = ApiKey.objects.get(predecessor=old)
            raise CommandError(f"{successor.prefix} has taken its place: rotate that") from None
        except (OverlapError, OverflowError, ValueError):
            raise CommandError("--overlap: from 0 to 720 hours") from None
        self._print(key, raw, as_json=options["json"], replaces=old.prefix)

    def _revoke(self, key: ApiKey, **options: Any) -> None:
        try:
            revoke_key(key=key, reason=options["reason"], actor=ACTOR)
        except AlreadyRevokedError:
            raise CommandError(f"{key.prefix} was revoked before") from None
        self.stdout.write(f"{key.prefix} is revoked; its next request is refused")

    def _limit(self, key: ApiKey, **options: Any) -> None:
        limit_key(
            key=key, limit_per_minute=options["limit"], seen=key.limit_per_minute, actor=ACTOR
        )
        said = "as many requests as by default" if options["limit"] is None else options["limit"]
        self.stdout.write(f"{key.prefix} may now send {said} a minute")

    def _print(self, key: ApiKey, raw: str, *, as_json: bool, **more: str) -> None:
        if not as_json:
            self.stdout.write(raw)
            return
        told = {"key": raw, "id": str(key.id), "prefix": key.prefix, "scopes": key.scopes, **more}
        if key.demands_subject_token:
            told["subject_secret"] = signing_secret(key.id)
        self.stdout.write(json.dumps(told))


def _key(named: str) -> ApiKey:
    """Return the key with a prefix, which is taken with or without the `mem_` before it."""
    found = ApiKey.objects.filter(prefix=named.removeprefix("mem_")).select_related("app").first()
    if found is None:
        raise CommandError("there is no key with this prefix")
    return found


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
