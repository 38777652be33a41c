from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from episodes.audit import Actor
from episodes.enums import ActorKind, ErasureStatus
from episodes.erasure.finish import finish_erasures
from episodes.erasure.held import apps_that_hold
from episodes.erasure.request import preview_erasure, request_erasure, request_erasure_everywhere
from episodes.models import App, Erasure

ACTOR = Actor(name="erase_user", kind=ActorKind.COMMAND)


class Command(BaseCommand):
    help = (
        "Erase a subject: every row of it, in one app or in all. Ends when it was verified; safe "
        "to stop and to run again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        where = parser.add_mutually_exclusive_group(required=True)
        where.add_argument("--app")
        where.add_argument("--all-apps", action="store_true")
        parser.add_argument("user", metavar="USER", help="the subject's user_id")
        parser.add_argument("--reason", default="", help="masked before it is kept")
        parser.add_argument("--dry-run", action="store_true", help="count, and change nothing")
        parser.add_argument("--json", action="store_true", help="print one JSON object per app")

    def handle(
        self,
        *,
        app: str | None,
        user: str,
        reason: str,
        dry_run: bool,
        json: bool,
        **options: Any,
    ) -> None:
        if not 1 <= len(user) <= 256 or "\0" in user:
            raise CommandError("USER has 1 to 256 characters")
        apps = list(App.objects.order_by("name") if app is None else App.objects.filter(name=app))
        if app is not None and not apps:
            raise CommandError(f"there is no app {app}")
        if dry_run:
            for each in apps:
                counts = preview_erasure(app=each, user_id=user)
                held_in = apps_that_hold(app_id=each.pk, user_id=user)
                self._say(each.name, "dry_run", counts, held_in=held_in, json=json)
            return
        if app is None:
            asked = request_erasure_everywhere(user_id=user, actor=ACTOR, reason=reason)
        else:
            asked = [request_erasure(app=apps[0], user_id=user, actor=ACTOR, reason=reason)]
        done = finish_erasures([erasure.pk for erasure in asked], report=self._report(quiet=json))
        for erasure in done:
            self._say(
                erasure.app.name,
                erasure.status,
                erasure.counts,
                held_in=_held_in(erasure),
                json=json,
                erasure=erasure,
            )
        _demand_verified(done)

    def _report(self, *, quiet: bool) -> Any:
        def report(erasure: Erasure) -> None:
            if not quiet:
                self.stderr.write(f"{erasure.app.name}: {erasure.status}, {erasure.total} rows")

        return report

    def _say(
        self,
        app: str,
        status: str,
        counts: Mapping[str, int],
        *,
        json: bool,
        held_in: Sequence[str] = (),
        erasure: Erasure | None = None,
    ) -> None:
        total = sum(counts.values())
        if json:
            self.stdout.write(_as_json(app, status, counts, held_in, erasure))
            return
        self.stdout.write(f"{app}: {status}, {total} rows")
        for name, n in counts.items():
            if n:
                self.stdout.write(f"    {name:<20}{n:>10}")
        if held_in:
            self.stdout.write(f"    a legal hold stands in {', '.join(held_in)}: it would wait")


def _as_json(
    app: str,
    status: str,
    counts: Mapping[str, int],
    held_in: Sequence[str],
    erasure: Erasure | None,
) -> str:
    told: dict[str, Any] = {
        "app": app,
        "status": status,
        "counts": dict(counts),
        "total": sum(counts.values()),
        "held_in": list(held_in),
    }
    if erasure is not None:
        told |= {
            "erasure_id": str(erasure.pk),
            "found": erasure.found,
            "certificate": erasure.certificate,
        }
    return json.dumps(told)


def _held_in(erasure: Erasure) -> list[str]:
    if erasure.status != ErasureStatus.ON_HOLD or erasure.user_id is None:
        return []
    return apps_that_hold(app_id=erasure.app_id, user_id=erasure.user_id)


def _demand_verified(done: Sequence[Erasure]) -> None:
    for erasure in done:
        if erasure.status == ErasureStatus.ON_HOLD:
            where = ", ".join(_held_in(erasure)) or "no app any more"
            raise CommandError(
                f"{erasure.app.name}: a legal hold stands in {where}; it waits, hidden"
            )
        if erasure.status == ErasureStatus.FAILED:
            raise CommandError(f"{erasure.app.name}: still found: {erasure.found}")
