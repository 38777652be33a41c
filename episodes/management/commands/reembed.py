from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from episodes.audit import Actor
from episodes.embedding.generations import current_generation
from episodes.embedding.reembed import PATIENCE, Progress, ReembedStalledError, reembed_app
from episodes.enums import ActorKind
from episodes.models import App
from episodes.search.org_index import ensure_org_index

ACTOR = Actor(name="reembed", kind=ActorKind.COMMAND)


class Command(BaseCommand):
    help = (
        "Give every served revision a vector of the embedder that is set now, then let search use "
        "these. Until then search goes on with the old ones. Also repairs: it embeds what lacks "
        "its vector. Safe to stop and to run again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--app", help="only this app (default: all)")
        parser.add_argument(
            "--patience",
            type=float,
            default=PATIENCE,
            help="seconds without progress before it gives up (default: %(default)g)",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object per app")

    def handle(self, *, app: str | None, patience: float, json: bool, **options: Any) -> None:
        apps = App.objects.order_by("name")
        if app is not None:
            apps = apps.filter(name=app)
            if not apps:
                raise CommandError(f"there is no app {app}")
        generation = current_generation()
        if not ensure_org_index(generation):
            self.stderr.write(
                f"{generation.name}: no index of what is shared could be made; search in the scope "
                "org is slow until the owner of the tables runs migrate"
            )
        stalled = []
        for each in apps:
            try:
                embedded = reembed_app(
                    app=each,
                    generation=generation,
                    actor=ACTOR,
                    report=self._say_nothing if json else self._say,
                    patience=patience,
                )
            except ReembedStalledError as error:
                stalled.append(str(error))
            else:
                self._say_done(each.name, generation.name, embedded, as_json=json)
        if stalled:
            raise CommandError("\n".join(stalled))

    def _say(self, progress: Progress) -> None:
        self.stdout.write(f"{progress.app}: {progress.waiting} to go")

    def _say_nothing(self, progress: Progress) -> None:
        """A program reads the output."""

    def _say_done(self, app: str, generation: str, embedded: int, *, as_json: bool) -> None:
        if as_json:
            line = json.dumps({"app": app, "generation": generation, "embedded": embedded})
        else:
            line = f"{app} searches {generation}; {embedded} embedded"
        self.stdout.write(line)
