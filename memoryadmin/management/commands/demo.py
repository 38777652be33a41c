from __future__ import annotations

from argparse import ArgumentParser
from functools import partial
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from memoryadmin.demo.access import keep_access, kept_access
from memoryadmin.demo.load import NotEmptyError, load_demo
from memoryadmin.demo.welcome import welcome
from memoryadmin.lib import clock


class Command(BaseCommand):
    help = "Load the demo into an empty database, or say again how to get into it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--address", default="http://127.0.0.1:8000", help="of the program")

    def handle(self, *, address: str, **options: Any) -> None:
        try:
            load_demo(
                now=clock.now(),
                keep=partial(keep_access, folder=settings.DATA_DIR),
                tell=lambda percent: self.stderr.write(f"  {percent} %"),
            )
        except NotEmptyError:
            raise CommandError(
                "this database is not empty; the demo is only loaded into an empty one"
            ) from None
        access = kept_access(folder=settings.DATA_DIR)
        self.stdout.write(welcome(access, address=address.rstrip("/")))
