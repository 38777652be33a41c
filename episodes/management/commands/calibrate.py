from __future__ import annotations

import dataclasses
import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from episodes.embedding.sampling import Calibration, TooFewPairsError, measure_app
from episodes.models import App


class Command(BaseCommand):
    help = "Propose an app's minimum and failure threshold from its own episodes; write nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--app", required=True)
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *, app: str, json: bool, **options: Any) -> None:
        try:
            measured = measure_app(App.objects.select_related("generation").get(name=app))
        except App.DoesNotExist:
            raise CommandError(f"there is no app {app}") from None
        except TooFewPairsError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(_as_json(measured) if json else _as_text(measured))


def _as_json(measured: Calibration) -> str:
    return json.dumps(dataclasses.asdict(measured))


def _as_text(measured: Calibration) -> str:
    current, proposed = measured.current, measured.proposed
    lines = [
        f"{measured.app}: {measured.pairs} pairs of different procedures among the newest "
        f"{measured.episodes} episodes, {measured.generation}",
        "",
        f"{'':<20}{'proposed':>10}{'now':>10}",
        f"{'minimum':<20}{proposed.minimum:>10.2f}{current.minimum:>10.2f}",
        f"{'failure threshold':<20}{proposed.failure_threshold:>10.2f}"
        f"{current.failure_threshold:>10.2f}",
        "",
        f"{'percentile':<20}{'different':>10}{'same procedure':>16}",
    ]
    for percent, cosine in measured.unrelated.items():
        same = measured.related.get(percent)
        lines.append(
            f"{f'p{percent:g}':<20}{cosine:>10.3f}{'-' if same is None else f'{same:.3f}':>16}"
        )
    return "\n".join(lines)
