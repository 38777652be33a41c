from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from episodes.models import App, RetentionRun
from episodes.retention.preview import Preview, preview_sweep
from episodes.retention.sweep import sweep_app


class Command(BaseCommand):
    help = "Delete what retention has ended, to the end; beat does it every hour, in pieces."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--app", help="this app only")
        parser.add_argument("--dry-run", action="store_true", help="say what would go, and stop")
        parser.add_argument("--json", action="store_true", help="print one JSON object per app")

    def handle(self, *, app: str | None, dry_run: bool, json: bool, **options: Any) -> None:
        apps = App.objects.order_by("name")
        if app is not None:
            apps = apps.filter(name=app)
            if not apps.exists():
                raise CommandError(f"there is no app {app}")
        for one in apps:
            report = _of_preview(preview_sweep(app=one)) if dry_run else _of_run(sweep_app(app=one))
            self.stdout.write(_line(one.name, report, as_json=json))


def _line(app: str, report: dict[str, Any], *, as_json: bool) -> str:
    if as_json:
        return json.dumps({"app": app, **report})
    parts = [
        f"{part['n']} by {part['why']}" + (f" ({part['policy']})" if part["policy"] else "")
        for part in report["policies"]
    ]
    rows = [f"{n} of {table}" for table, n in report["rows"].items()]
    told = "; ".join([", ".join(parts) or "no episode", *rows, f"{report['held']} held"])
    return f"{app}: {told}"


def _of_preview(preview: Preview) -> dict[str, Any]:
    told = preview.as_json()
    return {
        "dry_run": True,
        "as_of": told["as_of"],
        "policies": told["policies"],
        "rows": told["log"],
        "held": told["held"],
        "sample": told["sample"],
    }


def _of_run(run: RetentionRun | None) -> dict[str, Any]:
    """None: there was nothing to delete, or another process is at it."""
    if run is None:
        return {"dry_run": False, "policies": [], "rows": {}, "held": 0, "sample": []}
    return {
        "dry_run": False,
        "run": str(run.pk),
        "as_of": run.as_of.isoformat(),
        "finished": run.finished_at is not None,
        "policies": run.policies,
        "rows": run.stores,
        "held": run.n_held,
        "busy": run.n_busy,
        "seconds": round(run.worked, 3),
        "batches": run.batches,
        "space": run.space,
        "sample": run.sample,
    }
