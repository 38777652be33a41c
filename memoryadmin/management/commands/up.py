from __future__ import annotations

import fcntl
import os
import socket
import sys
import time
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connections

from episodes.accounts import has_account
from episodes.embedding.generations import GenerationMismatchError, refuse_mismatch
from episodes.search.org_index import ensure_org_indexes
from memoryadmin import assets
from memoryadmin.database import dsn
from memoryadmin.demo.start import start_demo
from memoryadmin.supervisor import Program, Supervisor
from memoryadmin.watch import Watch

HOST = "127.0.0.1"
_NOBODY_YET = (
    "Nobody can sign in yet. Make the first account in a second terminal:\n"
    "    manage.py console_user NAME --superuser"
)
_PATIENCE = 10.0  # seconds; what a kill -9 left behind needs a moment to go


class Command(BaseCommand):
    help = "Run the whole program: database, web, worker and beat. Ctrl-C stops it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=_port, default=8000)
        parser.add_argument("--no-demo", action="store_true", help="load no demo data")

    def handle(self, *, port: int, no_demo: bool, **options: Any) -> None:
        with _alone(settings.DATA_DIR):
            _await_port(port)
            call_command("migrate", verbosity=0, interactive=False)
            _check_embedder()
            ensure_org_indexes()
            assets.collect_if_changed()
            address = f"http://{HOST}:{port}"
            greeting = ""
            if not no_demo:
                greeting = start_demo(folder=settings.DATA_DIR, address=address, say=self._say)
            if not has_account():
                greeting = _NOBODY_YET
            connections.close_all()
            supervisor = Supervisor(_programs(port), environment=_environment(), say=self._say)
            supervisor.run(watch=Watch(address, say=self._say, greeting=greeting))

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


def _check_embedder() -> None:
    """Search by vectors of another model would find nothing, or nonsense."""
    try:
        refuse_mismatch()
    except GenerationMismatchError as error:
        raise CommandError(str(error)) from None


def _programs(port: int) -> list[Program]:
    web = (
        "granian --interface wsgi --workers 2 --blocking-threads 4 --respawn-failed-workers "
        "--workers-kill-timeout 10s --no-ws --log-level warning "
        # an idle thread takes its database connection with it, so let it idle long
        "--blocking-threads-idle-timeout 10m "
        f"--host {HOST} --port {port} memoryadmin.wsgi:application"
    )
    worker = (
        "celery --quiet -A memoryadmin worker -c 2 -n w@local "
        "--without-gossip --without-mingle --without-heartbeat"
    )
    beat = "celery --quiet -A memoryadmin beat --pidfile="
    return [
        Program(name, [sys.executable, "-m", *command.split()])
        for name, command in (("web", web), ("worker", worker), ("beat", beat))
    ]


def _environment() -> dict[str, str]:
    """Hand on the app's login and not the owner's."""
    handed_on = {name: value for name, value in os.environ.items() if name != "APP_DATABASE_URL"}
    return handed_on | {
        "DATABASE_URL": dsn.app() or "",
        "MEMORYADMIN_DB_ROLE": "app",
        "MEMORYADMIN_DATA_DIR": str(settings.DATA_DIR),
        "PYTHONPATH": str(settings.BASE_DIR),
    }


def _port(value: str) -> int:
    if not value.isdigit() or not 1 <= int(value) <= 65_535:
        raise ArgumentTypeError("a port is a number from 1 to 65535")
    return int(value)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One program a data folder: two beats would ring every bell twice."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = os.open(folder / "up.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CommandError(f"the program runs already with the data in {folder}") from None
        yield
    finally:
        os.close(lock)


def _await_port(port: int) -> None:
    deadline = time.monotonic() + _PATIENCE
    while True:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
                return
            except OSError as error:
                if time.monotonic() > deadline:
                    raise CommandError(
                        f"port {port} cannot be used ({error.strerror}); "
                        f"choose another one: make run PORT={port + 1}"
                    ) from None
        time.sleep(0.25)
