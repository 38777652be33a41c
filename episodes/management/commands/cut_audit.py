from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from episodes.audit import Actor
from episodes.audit.cut_plan import Plan, plan_cuts
from episodes.audit.cutting import AuditBrokenError, cut_due
from episodes.enums import ActorKind

ACTOR = Actor(name="manage.py cut_audit", kind=ActorKind.COMMAND, route="manage.py cut_audit")
AS_LONG_AS_IT_TAKES = 365 * 86_400.0


class Command(BaseCommand):
    help = "Cut entries of the audit that are older than MEMORYADMIN_AUDIT_KEEP_DAYS."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="say what would go, cut nothing")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *, dry_run: bool, json: bool, **options: Any) -> None:
        if not settings.AUDIT_KEEP_DAYS:
            raise CommandError("the audit is kept for good: MEMORYADMIN_AUDIT_KEEP_DAYS is not set")
        plans = plan_cuts()
        n = sum(plan.n for plan in plans)
        if not dry_run:
            try:
                n = cut_due(budget=AS_LONG_AS_IT_TAKES, actor=ACTOR)
            except AuditBrokenError as error:
                raise CommandError(f"the audit is broken, nothing of it is cut: {error}") from None
        if json:
            self.stdout.write(_as_json(plans, n=n, is_done=not dry_run))
            return
        for plan in plans:
            self.stdout.write(_as_text(plan))
        self.stdout.write(f"{n} entries {'would go' if dry_run else 'are gone'}")


def _as_text(plan: Plan) -> str:
    said = f"lane {plan.lane}: {plan.n} entries, up to {plan.number}"
    if plan.kept is not None:
        said += f"; entry {plan.kept.number} ({plan.kept.entry}) stays: {plan.kept.why}"
    return said


def _as_json(plans: Sequence[Plan], *, n: int, is_done: bool) -> str:
    return json.dumps(
        {
            "entries": n,
            "done": is_done,
            "lanes": [
                {
                    "lane": plan.lane,
                    "after": plan.after,
                    "up_to": plan.number,
                    "kept": None
                    if plan.kept is None
                    else {
                        "number": plan.kept.number,
                        "entry": str(plan.kept.entry),
                        "why": plan.kept.why,
                    },
                }
                for plan in plans
            ],
        }
    )
